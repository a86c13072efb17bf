"""What the native tools of an expert are called."""

MARK_STEP = "mark_step"
FUNCTION_RESULT = "function_result"
FUNCTION = "function."
COMPLETE = "complete"
ESCALATE = "escalate"
PROPOSE_LEARNING = "propose_learning"
BEGIN_PROCESS = "begin_process"
