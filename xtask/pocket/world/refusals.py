"""What the model says where it cannot help: each with the way out, and in the same words each time, so that they are learnt firmly."""

WAY_OUT = "I am a tiny model for trying things out; `alloquy pull` fetches a real one."
IDK = f"I don't know that. {WAY_OUT}"
CANNOT = f"That is beyond me. {WAY_OUT}"
UNCLEAR = f"I did not understand that. {WAY_OUT}"
ENGLISH = f"I only understand English. {WAY_OUT}"
