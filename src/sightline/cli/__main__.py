"""``python -m sightline.cli``: the command without its script."""

from sightline.cli.app import main

main()
