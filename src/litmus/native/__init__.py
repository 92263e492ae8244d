"""The inner loops in C: evaluating perceptrons, drawing perturbations, simulating MuJoCo bodies.

Optional. They are compiled when litmus is installed where there is a C compiler, and used on an
x86-64 processor with AVX2; anywhere else, and with LITMUS_NATIVE=0, numpy and torch do the same.
"""
