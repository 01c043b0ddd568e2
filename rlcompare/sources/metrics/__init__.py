"""What training logged, whoever wrote it down: verl's console and its loggers (file, TensorBoard, MLflow, wandb, CSV).

Each module reads one form into ``values.Metrics``; ``form`` tells by content which it is, ``jobs`` which files are of
one run, and ``load`` fills the table ``metric``.
"""
