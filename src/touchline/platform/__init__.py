"""The real parts under the product: databases, objects, workflows, and the embedded stack that runs them."""
