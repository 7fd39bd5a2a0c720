// What the scripts of this folder share: the clients, from the folder in ALLOQUY_CLIENTS_NODE, and the address and the key.
import { createRequire } from "node:module";

const require = createRequire(`${process.env.ALLOQUY_CLIENTS_NODE}/`);

export const load = (name) => require(name);
export const [root, key] = process.argv.slice(2);
export const url = `${root}/v1`;

/** Expects that a request is refused with these fields in the error. */
export async function refused(request, expected) {
  let error;
  try {
    await request();
  } catch (caught) {
    error = caught;
  }
  if (!error) throw new Error(`accepted, expected ${JSON.stringify(expected)}`);
  for (const [name, value] of Object.entries(expected)) {
    if (error[name] !== value) throw new Error(`${name} is ${error[name]}, expected ${value}: ${error}`);
  }
}
