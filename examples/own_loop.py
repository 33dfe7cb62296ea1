"""A training loop of one's own: gradient descent on a parabola, watched."""

import operant

run = operant.init(project="parabola", config={"learning_rate": 0.1})
x = 5.0
for step in range(1, 101):
    gradient = 2 * x
    x -= run.config.learning_rate * gradient
    operant.log({"loss/parabola": x * x, "x": x}, step=step)
operant.finish()
print(f"x = {x:.6f}")
