"""The reference RL training step of `rlcompare run`: configuration, model, rollout, advantage, loss and update."""
