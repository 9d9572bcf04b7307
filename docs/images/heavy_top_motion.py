#!/usr/bin/python3
"""Draws docs/images/heavy-top-motion.png from the trajectory of the heavy top.

    build/bin/kreisel run heavy-top --out results/heavy-top
    docs/images/heavy_top_motion.py results/heavy-top/trajectory.csv [PNG]
"""
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

trajectory = sys.argv[1]
png = sys.argv[2] if len(sys.argv) > 2 else Path(__file__).parent / "heavy-top-motion.png"

with open(trajectory, encoding="utf-8") as lines:
    rows = [line for line in lines if not line.startswith("#")]
data = np.genfromtxt(rows, delimiter=",", names=True, deletechars="")

plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
figure = plt.figure(figsize=(8, 3.3), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=[1, 1.35])

space = left.add_subplot(projection="3d", computed_zorder=False)
x, y, z = data["top.x"], data["top.y"], data["top.z"]
space.plot(x, y, z, linewidth=1.0, color="tab:blue")
space.plot([0, x[-1]], [0, y[-1]], [0, z[-1]], color="black", linewidth=1.6)
space.scatter([0], [0], [0], color="black", s=14)
space.scatter([x[-1]], [y[-1]], [z[-1]], color="tab:red", s=22)
space.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", title="centre of mass, tip at the origin")
space.set_box_aspect([np.ptp(x), np.ptp(y), np.ptp(z)], zoom=0.82)
space.locator_params(nbins=4)
space.view_init(elev=28, azim=-55)

# The file holds lambda in the body frame, where it spins with the top; R turns it into the inertial frame.
R = np.stack([[data[f"top.R{i}{j}"] for j in (1, 2, 3)] for i in (1, 2, 3)])
force = np.einsum("ijt,jt->it", R, np.stack([data[f"lambda{j}"] for j in (1, 2, 3)]))

axes = right.add_subplot()
for component, name, colour in zip(force, "xyz", ("tab:blue", "tab:orange", "tab:green")):
    axes.plot(data["t"], component, linewidth=1.2, color=colour, label=name)
axes.axhline(0, color="black", linewidth=0.5)
axes.set(xlabel="t [s]", ylabel="$R\\lambda$ [N]", title="constraint force in the tip, inertial frame")
axes.margins(x=0)
axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=3, frameon=False)

figure.savefig(png, dpi=110, metadata={"Software": None})
