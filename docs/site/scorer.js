// What the search shows first: titles before words, what a person does before what a function is called.
const FOLDERS = [
  ["docs/tutorials/", 3],
  ["docs/guides/", 3],
  ["docs/explanation/", 2],
  ["docs/reference/", 2],
  ["docs/results/", 0.5],
  ["docs/site/api/", 0.5],
];

var Scorer = {
  score: (result) => {
    const [docname, , , , score] = result;
    const found = FOLDERS.find(([folder]) => docname.startsWith(folder));
    return score * (found ? found[1] : 1);
  },
  objNameMatch: 12,
  objPartialMatch: 1,
  objPrio: { 0: 0, 1: 0, 2: 0 },
  objPrioDefault: 0,
  title: 30,
  partialTitle: 20,
  term: 5,
  partialTerm: 3,
};
