"""What scripts/gpu-proof and scripts/gpu-bundle do; see README.md. Python 3.9, standard library only."""
