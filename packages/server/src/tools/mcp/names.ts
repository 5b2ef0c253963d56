/** Names of MCP tools for the model. Pure. Source: agent-core.md 8.12. */
import { createHash } from 'node:crypto'

/** Longest function name that model providers accept. */
const MAX_CHARS = 64

/**
 * Returns the tool's name at the server; with several servers, prefixed with the server's name and an underscore.
 * Characters that
 * a provider refuses become underscores, and a name that is too long is shortened with a hash.
 */
export function nameFor(server: string, tool: string, hasSeveral: boolean): string {
  const wanted = hasSeveral ? `${server}_${tool}` : tool
  const plain = wanted.replaceAll(/[^A-Za-z0-9_-]/g, '_')
  const started = /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`
  if (started.length <= MAX_CHARS) return started
  const mark = createHash('sha256').update(wanted).digest('hex').slice(0, 8)
  return `${started.slice(0, MAX_CHARS - mark.length - 1)}_${mark}`
}
