"""The closed world of the pocket model: chats from templates and tables, all of them written for it."""

from .chat import Chat, chat
from .draw import EVALUATION, TRAINING, Draw

__all__ = ["Chat", "Draw", "EVALUATION", "TRAINING", "chat"]
