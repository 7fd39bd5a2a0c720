//! Chat templates: Jinja as Hugging Face renders it, and MLC conversation templates
