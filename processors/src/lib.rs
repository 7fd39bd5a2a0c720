//! Model families: what goes into the template and what comes out of the model
