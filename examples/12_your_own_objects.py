"""Your own objects: a set of objects that scenes can hold, and that no robot knows.

A package gives the set a name by an entry point, and scene files then hold "teachers/mallet". Here each object is made
alone, as a scene would make it.

    python examples/12_your_own_objects.py

You will see:

    mango: orange fruit, 0.095 x 0.062 x 0.062 m, 0.22 kg, 3 geoms
    mallet: grey tool, 0.120 x 0.050 x 0.050 m, 0.18 kg, 2 geoms
    INVALID_ARGUMENT: The shape of 'die' must be one of apple, ball, ... wrench, not 'cube'.
"""

import mujoco

from toolhand.sim.objects.primitives import BOX, PrimitiveAsset, ShapePart
from toolhand.sim.objects.shapes import shaped
from toolhand.tool_nodes.results import ToolError

OBJECTS = {
    "mango": shaped("mango", "lemon", (0.095, 0.062, 0.062), 0.22, (245, 120, 40), kind="fruit", synonyms=("aam",)),
    "mallet": PrimitiveAsset(
        name="mallet",
        kind="tool",
        colour="grey",
        size_m=(0.12, 0.05, 0.05),
        mass_kg=0.18,
        parts=(
            ShapePart(BOX, (0.02, 0.025, 0.025), (0.04, 0.0, 0.0), rgb=(150, 152, 158)),
            ShapePart(BOX, (0.04, 0.012, 0.025), (-0.02, 0.0, 0.0), rgb=(150, 152, 158)),
        ),
    ),
}


if __name__ == "__main__":
    for name, item in OBJECTS.items():
        spec = mujoco.MjSpec()
        item.add_geoms(spec, spec.worldbody.add_body(name=name), name, grip=1.0, weight=1.0)
        model = spec.compile()
        size = " x ".join(f"{side:.3f}" for side in item.size_m)
        print(f"{name}: {item.colour} {item.kind}, {size} m, {model.body(name).mass[0]:.2f} kg, {model.ngeom} geoms")

    # A mistake is one sentence.
    try:
        shaped("die", "cube", (0.02, 0.02, 0.02), 0.01, (255, 255, 255))
    except ToolError as error:
        print(f"{error.code}: {error}")
