"""Learning facts from turns: the queue, the questions to a model, reconciling with known facts."""
