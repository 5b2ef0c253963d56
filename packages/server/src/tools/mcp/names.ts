/** Names of MCP tools as the model sees them. Pure. Source: agent-core.md 8.12 (3). */
import { createHash } from 'node:crypto'

/** What the providers of models accept as the name of a function. */
const MAX_CHARS = 64

/**
 * The server's own name for the tool; with several servers in front of it the server's name and an underscore. Characters that
 * a provider refuses become underscores, and what is too long is cut and told apart by a hash.
 */
export function nameFor(server: string, tool: string, hasSeveral: boolean): string {
  const wanted = hasSeveral ? `${server}_${tool}` : tool
  const plain = wanted.replaceAll(/[^A-Za-z0-9_-]/g, '_')
  const started = /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`
  if (started.length <= MAX_CHARS) return started
  const mark = createHash('sha256').update(wanted).digest('hex').slice(0, 8)
  return `${started.slice(0, MAX_CHARS - mark.length - 1)}_${mark}`
}
