"""The published Python SDK as a client of a started server. Run by `scripts/conformance-python.mjs`."""

import conversation_checks  # noqa: F401
import event_checks  # noqa: F401
import workspace_checks  # noqa: F401
from bench import main

if __name__ == "__main__":
    main()
