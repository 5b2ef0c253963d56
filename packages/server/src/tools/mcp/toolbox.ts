/**
 * The tools of one conversation's MCP servers.
 *
 * Invariants
 *   X1. A server that cannot be used takes nothing from the others and nothing from the conversation (F56); it is told once.
 *   X2. A name belongs to whoever had it first: what a server lists later takes no name from anybody else.
 */
import type { MCPServer, MCPServers } from '@parley/protocol'
import { abortable } from '../../lib/index.ts'
import type { Notice, ToolSource } from '../tool-source.ts'
import type { Tool } from '../tool.ts'
import { loadChecker } from './check-arguments.ts'
import type { ListedTool } from './connection.ts'
import { reasonOf } from './failure.ts'
import { mcpTool } from './mcp-tool.ts'
import { nameFor } from './names.ts'
import { expandServer, namesIn } from './placeholders.ts'
import type { Held, Home, McpPool } from './pool.ts'

/** Milliseconds for one call where the server's configuration names no time. Source: agent-core.md 8.12 (6). */
const CALL_MS = 300_000
/** Seconds. Source: conversation-service.md 1.1. */
const MAX_CALL_S = 3600
/** Milliseconds after which a server that failed is tried again, beside a step that begins then. */
const RETRY_AFTER_MS = 60_000

export type ToolboxDeps = {
  servers: MCPServers
  pool: McpPool
  home: Home
  /** Values of the secrets that a text names. */
  secretsFor: (text: string) => Promise<Record<string, string>>
  /** Whether the operator vouches for what this server says of its tools. */
  isTrusted: (server: MCPServer) => boolean
  /** Whether the agent's filter lets a tool of this name through. */
  isLetThrough: (name: string) => boolean
  log: { warn(fields: object, message: string): void }
}

type Offer = {
  server: string
  config: MCPServer
  held: Held | null
  /** Takes what the server lists. */
  list: (listed: readonly ListedTool[]) => void
  tools: readonly Tool[]
  /** When it failed; null: it did not, or is being tried. */
  failedAt: number | null
  isTold: boolean
}

export function openToolbox(deps: ToolboxDeps): ToolSource {
  const { pool, home, secretsFor, isTrusted, isLetThrough, log } = deps
  const enabled = Object.entries(deps.servers).filter(([, { enabled }]) => enabled)
  const offers = enabled.map(([server, config]): Offer => ({
    server,
    config,
    held: null,
    list: () => undefined,
    tools: [],
    failedAt: null,
    isTold: false,
  }))
  const notices: Notice[] = []
  const forgets: (() => void)[] = []
  const refused = new Set<string>()
  let owners = new Map<string, Offer>()
  let version = 0
  let first: Promise<unknown> | null = null
  const end = new AbortController()

  async function take(offer: Offer): Promise<void> {
    offer.failedAt = null
    try {
      const held = offer.held ?? (await hold(offer))
      offer.list(await held.session.tools(end.signal))
    } catch (error) {
      if (end.signal.aborted) return
      offer.failedAt = performance.now()
      const reason = reasonOf(error)
      log.warn({ mcp_server: offer.server, reason }, 'an MCP server cannot be used')
      if (!offer.isTold) notices.push(unavailable(offer.server, reason))
      offer.isTold = true
    }
  }

  async function hold(offer: Offer): Promise<Held> {
    const names = namesIn(offer.config)
    const [checkerOf, values] = await Promise.all([
      loadChecker(),
      names.length === 0 ? {} : secretsFor(names.join(' ')),
    ])
    end.signal.throwIfAborted()
    const held = pool.hold(expandServer(offer.config, values), home)
    offer.held = held
    let newest = ''
    offer.list = (listed) => {
      const text = JSON.stringify(listed)
      // The same list again, such as after a new start, changes nothing for the model.
      if (text === newest || end.signal.aborted) return
      newest = text
      offer.tools = toolsOf(offer, held, listed, checkerOf)
      offer.isTold = false
      version += 1
    }
    forgets.push(held.session.onTools((listed) => offer.list(listed)))
    return held
  }

  function toolsOf(
    { server, config }: Offer,
    { session }: Held,
    listed: readonly ListedTool[],
    checkerOf: Awaited<ReturnType<typeof loadChecker>>,
  ): Tool[] {
    const common = { server, session, secrets: namesIn(config), isTrusted: isTrusted(config) }
    const callMs = config.timeout === null ? CALL_MS : Math.min(config.timeout, MAX_CALL_S) * 1000
    return listed.flatMap((each) => {
      const name = nameFor(server, each.name, offers.length > 1)
      if (!isLetThrough(name)) return []
      return [mcpTool({ ...common, name, listed: each, check: checkerOf(each.inputSchema), callMs })]
    })
  }

  return {
    async prepare(signal) {
      if (first === null) first = Promise.all(offers.map(take))
      else {
        const due = performance.now() - RETRY_AFTER_MS
        for (const offer of offers) if (offer.failedAt !== null && offer.failedAt < due) void take(offer)
      }
      await abortable(first, signal).catch(() => undefined)
    },

    get version() {
      return version
    },

    tools(taken) {
      const held = new Map<string, Offer>()
      const chosen = new Map<string, Tool>()
      const choose = (offer: Offer, tool: Tool) => {
        held.set(tool.name, offer)
        chosen.set(tool.name, tool)
      }
      const each = offers.flatMap((offer) => offer.tools.map((tool) => [offer, tool] as const))
      for (const [offer, tool] of each)
        if (owners.get(tool.name) === offer && !taken.has(tool.name) && !chosen.has(tool.name)) choose(offer, tool)
      for (const [offer, tool] of each) {
        if (chosen.get(tool.name) === tool) continue
        if (!taken.has(tool.name) && !chosen.has(tool.name)) choose(offer, tool)
        else if (!refused.has(`${offer.server} ${tool.name}`)) {
          refused.add(`${offer.server} ${tool.name}`)
          notices.push(conflict(offer.server, tool.name))
        }
      }
      owners = held
      return each.flatMap(([, tool]) => (chosen.get(tool.name) === tool ? [tool] : []))
    },

    takeNotices: () => notices.splice(0),

    async [Symbol.asyncDispose]() {
      end.abort(new Error('the agent was let go'))
      for (const forget of forgets) forget()
      await Promise.all(offers.map(async ({ held }) => held?.release()))
    },
  }
}

const unavailable = (server: string, reason: string): Notice => ({
  code: 'MCPServerUnavailable',
  detail: `The MCP server '${server}' cannot be used: ${reason}. The conversation goes on without its tools.`,
})

const conflict = (server: string, name: string): Notice => ({
  code: 'MCPToolRefused',
  detail: `The tool '${name}' of the MCP server '${server}' is left out: another tool has this name.`,
})
