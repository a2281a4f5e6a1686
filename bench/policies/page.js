"use strict";
// Sorts a table by the column whose heading is clicked: numbers by what the cells say in data-value, texts by themselves.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement, table = head.closest("table"), body = table.tBodies[0];
    const column = [...head.parentElement.children].indexOf(head);
    const falls = head.getAttribute("aria-sort") !== "descending";
    for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falls ? "descending" : "ascending");
    const of = (row) => {
      const said = row.cells[column].dataset.value;
      return said === undefined || said === "" ? null : Number(said);
    };
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [of(a), of(b)];
      if (x === null || y === null) {
        if (x !== y) return x === null ? 1 : -1; // what was not measured stays below
        const order = a.cells[column].textContent.localeCompare(b.cells[column].textContent);
        return falls ? -order : order;
      }
      return falls ? y - x : x - y;
    });
    body.append(...rows);
  });
}
