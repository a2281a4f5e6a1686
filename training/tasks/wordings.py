"""What is asked, in several wordings a kind: the last two are held out, see `training.tasks.splits.wordings_of`."""

from __future__ import annotations

POINT_FORM = "Answer with one point [x, y], each from 0 to 1, measured from the top left of the picture."

WORDINGS: dict[str, tuple[str, ...]] = {
    "point": (
        "Point at the {a}.",
        "Where in the picture is the {a}?",
        "Give a point on the {a}.",
        "Mark the {a} with one point.",
        "Which point of the picture lies on the {a}?",
        "Locate the {a} in the picture.",
    ),
    "free_space": (
        "Point at free table {where} the {a}, with room for a cup.",
        "Where is there room for a cup {where} the {a}?",
        "Give a point of the empty table {where} the {a} where a cup could stand.",
        "Find a free spot {where} the {a} for a cup.",
        "A cup is to go {where} the {a}: point at a free place for it.",
    ),
    "depth": (
        "Which is closer to the camera: A) the {a} or B) the {b}?",
        "Which object is nearer to the camera: A) the {a} or B) the {b}?",
        "What stands closer to the camera taking this photo: A) the {a} or B) the {b}?",
        "Which of the two has the smaller distance to the camera: A) the {a} or B) the {b}?",
        "Seen from the camera, what comes first: A) the {a} or B) the {b}?",
    ),
    "count": (
        "How many {a} are on the table?",
        "Count the {a} on the table.",
        "How many {a} can you see on the table?",
        "What is the number of {a} on the table?",
        "Tell me how many {a} stand on the table.",
    ),
    "box": (
        "What is the 2D bounding box of the {a}?",
        "Give the bounding box of the {a} in the picture.",
        "Frame the {a} with a box.",
        "Which box encloses the {a} most tightly?",
        "Detect the {a} and give its box.",
    ),
    "pose": (
        "What are the eight corners of the 3D box around the {a}, projected into the picture?",
        "Give the 3D bounding box of the {a} as eight image points.",
        "Estimate the pose of the {a}: the eight projected corners of its box.",
        "Where in the picture are the corners of the 3D box of the {a}?",
        "Outline the {a} with a 3D box, as eight points of the picture.",
    ),
    "grasp": (
        "What are the five normalized (x, y) points between 0 and 1 in the image that outline the grasp plane for the "
        "{a}?",
        "Which five image points describe a grasp of the {a}?",
        "How would a two-finger gripper grasp the {a}? Give its five points in the picture.",
        "Propose a grasp of the {a} as five normalized image points.",
        "Show by five points of the picture where the gripper should take the {a}.",
    ),
    "size": (
        "How tall is the {a}?",
        "What is the height of the {a} above the table?",
        "How high does the {a} rise from the table?",
        "Estimate the height of the {a}.",
        "Measure the {a}: how high is it?",
    ),
    "distance": (
        "How far apart are the middles of the {a} and the {b}?",
        "What is the distance between the centre of the {a} and the centre of the {b}?",
        "How far is the middle of the {a} from the middle of the {b}?",
        "Measure the distance from the {a} to the {b}, middle to middle.",
        "What separates the {a} from the {b}, from centre to centre?",
    ),
    "yes_no": (
        "Is the {a} {where} the {b}?",
        "As the camera sees it, is the {a} {where} the {b}?",
        "Does the {a} stand {where} the {b}?",
        "Tell me whether the {a} is {where} the {b}.",
        "True or false: the {a} is {where} the {b}.",
    ),
    "choice": (
        "Seen from the camera, where does the {a} stand in relation to the {b}?",
        "Where is the {a} with respect to the {b}, as the camera sees it?",
        "Which relation does the {a} have to the {b}?",
        "How does the {a} lie relative to the {b} in the camera's view?",
        "Pick what is true of the {a}, seen from the {b} in the camera's view.",
    ),
    "map_route": (
        "Trace the {line} line from {a} to {b}.",
        "Which way does the {line} line run from {a} to {b}?",
        "Draw the route from {a} to {b} along the {line} line.",
        "Follow the {line} line from {a} to {b}.",
        "Take the {line} line at {a} and ride to {b}: which path is that?",
    ),
    "map_stations": (
        "Which stations lie between {a} and {b} on the {line} line?",
        "Name the stops of the {line} line between {a} and {b}.",
        "Riding the {line} line from {a} to {b}, which stations does one pass?",
        "List the stations of the {line} line that come after {a} and before {b}.",
        "What is between {a} and {b} on the {line} line?",
    ),
    "small_print": (
        "What lot number is printed on the {a}?",
        "Read the lot number of the {a}.",
        "Which lot does the small print on the {a} name?",
        "Find the lot number on the package of the {a}.",
        "The {a} has a lot number in small print: which?",
    ),
}
"""Kind -> wordings, each with the same blanks; no other kind's wording fits the same sentence."""

FORMS: dict[str, str] = {
    "point": POINT_FORM,
    "free_space": POINT_FORM,
    "depth": "Answer with A or B.",
    "count": "Answer with a whole number in digits.",
    "box": "Answer with [x1, y1, x2, y2], top left and bottom right corner, each from 0 to 1.",
    "pose": "Answer with a list of eight points [x, y], each from 0 to 1, in any order.",
    "grasp": "Your answer should be as Grasp center: [], Left finger base: [], Right finger base: [], "
    "Left finger tip: [], Right finger tip: [].",
    "size": "Answer with a number of metres.",
    "distance": "Answer with a number of metres.",
    "yes_no": "Answer with yes or no.",
    "choice": "{options} Answer with the letter.",
    "map_route": "Answer with the points [x, y] of the path in order, each from 0 to 1, measured from the top left.",
    "map_stations": "Answer with their names, separated by commas.",
    "small_print": "Answer with the lot number alone.",
}
"""Kind -> the form of the answer, one sentence that ends every question of the kind."""

SIDE_WORDS = {"left": "left of", "right": "right of", "front": "in front of", "behind": "behind"}
"""Side as the camera sees it -> words between two things."""

PLURALS = {
    "can": "cans",
    "bottle": "bottles",
    "jar": "jars",
    "carton": "cartons",
    "box": "boxes",
    "cup": "cups",
    "ball": "balls",
}
"""Kinds of the catalogue that are counted, with the word for several."""
