"""Training metrics as verl's console and loggers write them (file, TensorBoard, MLflow, wandb, CSV).

Each module reads one format into ``values.Metrics``. ``form`` detects the format by content, ``jobs`` groups files by
run, and ``load`` fills the table ``metric``.
"""
