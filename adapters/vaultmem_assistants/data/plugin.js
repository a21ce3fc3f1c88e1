// vaultmem: sha256-
// Puts into the system prompt what "vaultmem hook session-start --harness opencode" says, asked once a session.
// Made by "vaultmem connect opencode"; with --remove it goes again.
import { execFile } from "node:child_process"

const [PROGRAM, ...WORDS] = {command}
const asked = new Map()

function ask(folder) {
  return new Promise((resolve) => {
    const hook = execFile(PROGRAM, WORDS, { cwd: folder, timeout: 10_000 }, (_error, out) => {
      try {
        resolve(JSON.parse(out).additionalContext)
      } catch {
        resolve("") // the session starts without it
      }
    })
    hook.stdin?.end()
  })
}

export const Vaultmem = async ({ directory }) => ({
  "experimental.chat.system.transform": async ({ sessionID }, output) => {
    if (!asked.has(sessionID)) asked.set(sessionID, ask(directory))
    const text = await asked.get(sessionID)
    if (text) output.system.push(text)
  },
})
