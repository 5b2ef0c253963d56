/**
 * Pool of the MCP servers of this process: conversations of one owner in one workspace with the same configuration
 * share one.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { MCPServer } from '@parley/protocol'
import type { Fetch } from '../../egress/index.ts'
import type { Workspace } from '../../workspace/index.ts'
import { endpointOf } from './endpoint.ts'
import { Session, type SessionLimits } from './session.ts'

/** Starting a server and listing its tools may take 30 s. Source: agent-core.md 8.12. A stdio server costs about 80 MB. */
const MCP_LIMITS: SessionLimits = { connectMs: 30_000, idleMs: 240_000 }

/** The workspace in which the programs of stdio servers run. */
export type McpWorkspace = {
  /** Servers of different workspaces are never shared, whatever their configuration. */
  key: string
  /** Opens a workspace for one program. `name` is unique to the program, and the same when it is restarted. */
  open(name: string, signal: AbortSignal): Promise<Workspace>
  /** Removes everything that such a program left. */
  leave(name: string): Promise<void>
}

export type Held = {
  session: Session
  /** Releases the session; the server ends with its last user. */
  release(): Promise<void>
}

export interface McpPool extends AsyncDisposable {
  /**
   * Returns the session of a server whose placeholders have been filled in. Does not connect yet.
   * @throws ParleyError for an invalid configuration.
   */
  hold(server: MCPServer, home: McpWorkspace): Held
}

type Entry = { session: Session; holders: number; end(): Promise<void> }

export function openMcpPool(fetch: Fetch, limits: SessionLimits = MCP_LIMITS): McpPool {
  const entries = new Map<string, Entry>()
  const ending = new Set<Promise<void>>()

  function entryOf(server: MCPServer, home: McpWorkspace): Entry {
    const endpoint = endpointOf(server)
    const { timeout: _, description: _text, icon: _icon, ...rest } = server
    const key = createHash('sha256')
      .update(JSON.stringify([home.key, rest]))
      .digest('hex')
    const known = entries.get(key)
    if (known !== undefined) return known
    // A new program must not be removed together with an ending one of the same configuration.
    const name = randomUUID()
    let isStarted = false
    const openWorkspace = (signal: AbortSignal) => {
      isStarted = true
      return home.open(name, signal)
    }
    const session = new Session({ endpoint, openWorkspace, fetch, limits })
    const entry: Entry = {
      session,
      holders: 0,
      async end() {
        if (entries.get(key) === entry) entries.delete(key)
        await session[Symbol.asyncDispose]()
        if (isStarted) await home.leave(name)
      },
    }
    entries.set(key, entry)
    return entry
  }

  function end(entry: Entry): Promise<void> {
    const going = entry.end().finally(() => ending.delete(going))
    ending.add(going)
    return going
  }

  return {
    hold(server, home) {
      const entry = entryOf(server, home)
      entry.holders += 1
      let isHeld = true
      return {
        session: entry.session,
        async release() {
          if (isHeld) entry.holders -= 1
          isHeld = false
          if (entry.holders === 0) await end(entry)
        },
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...ending, ...[...entries.values()].map(end)])
    },
  }
}
