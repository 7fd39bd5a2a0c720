"""Prints a few chats as the model sees them: `show.py [seed] [count] [side]`."""

import sys

from rendering import render
from world import TRAINING, Draw, chat


def main(seed="0", count="5", side=TRAINING):
    """Renders some chats."""
    draw = Draw(int(seed), side)
    for _ in range(int(count)):
        made = chat(draw)
        print(f"===== {made.skill} thinking={made.thinking} {made.check}")
        print(render(made.messages, made.tools, enable_thinking=made.thinking))


if __name__ == "__main__":
    main(*sys.argv[1:])
