"""Microseconds a node of TreeQuest's StandardMCTS with a generator that costs nothing.

usage: treequest_steps.py NODES
"""
import random
import sys
import time

import treequest

nodes = int(sys.argv[1])
random.seed(1)
generate = {"free": lambda parent: ("free", random.random())}
algorithm = treequest.StandardMCTS(samples_per_action=6)
tree = algorithm.init_tree()
begun = time.perf_counter()
for _ in range(nodes):
    tree = algorithm.step(tree, generate, inplace=True)
print(f"{(time.perf_counter() - begun) * 1e6 / nodes:.0f} µs a node")
