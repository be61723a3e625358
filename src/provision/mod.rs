//! What is missing on this machine, the command that mends it, and running that command on request.
