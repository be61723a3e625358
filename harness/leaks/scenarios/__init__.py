"""One module per reported fault: SCENARIO, its header, and run(session)."""
