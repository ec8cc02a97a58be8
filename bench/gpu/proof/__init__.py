"""The work of scripts/gpu-proof and scripts/gpu-bundle; see README.md. Python 3.9, standard library only."""
