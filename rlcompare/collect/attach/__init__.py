"""A profile of a job that runs already, under ``torch_npu.profiler.dynamic_profile``.

torch_npu polls one file, ``profiler_config.json``, and answers in its logs beside it and with ``*_ascend_pt`` folders;
there is no other way to ask it. ``request`` writes the file, ``logs`` and ``processes`` look at the job, ``follow``
waits, and ``reasons`` says why nothing comes. Nothing here imports torch_npu: the job may run in another environment.
"""
