/** Wraps a tool of an MCP server as a tool of the agent. Source: agent-core.md 8.12. */
import { createHash } from 'node:crypto'
import { ToolAnnotations, type MCPToolAction, type Observation } from '@parley/protocol'
import type { ForeignSchema } from '../foreign-schema.ts'
import type { Tool, ToolContext } from '../tool.ts'
import { expectFitting, type Check } from './check-arguments.ts'
import type { ListedTool } from './connection.ts'
import { reasonOf } from './failure.ts'
import { expandArguments, namesInArguments } from './placeholders.ts'
import { failedCall, observationOf } from './result.ts'
import type { Session } from './session.ts'

const MAX_DESCRIPTION_CHARS = 8_000

export type McpToolDeps = {
  /** Name for the model. */
  name: string
  /** The server's name in the configuration. */
  server: string
  /** The program or address of the server. */
  at: string
  listed: ListedTool
  schema: ForeignSchema
  session: Pick<Session, 'call'>
  check: Check
  /** The operator trusts the server's annotations (F16). */
  isTrusted: boolean
  /** Names of the secrets that this server may receive (F17). */
  secrets: readonly string[]
  /** Milliseconds for one call. */
  callMs: number
}

export function mcpTool(deps: McpToolDeps): Tool {
  const { name, server, at, listed, schema, session, check, isTrusted, secrets, callMs } = deps
  const annotations = ToolAnnotations.nullable()
    .catch(null)
    .parse(listed.annotations ?? null)
  const isReadOnly = isTrusted && annotations?.readOnlyHint === true
  const execute = async ({ data }: MCPToolAction, { signal, secretsFor }: ToolContext): Promise<Observation> => {
    const asked = namesInArguments(data, secrets)
    const values = asked.length === 0 ? {} : await secretsFor(asked.join(' '))
    const args = expandArguments(data, Object.fromEntries(asked.flatMap((each) => pairOf(values, each))))
    try {
      return await observationOf(name, await session.call(listed.name, args, callMs, signal))
    } catch (error) {
      signal.throwIfAborted()
      return failedCall(name, `The MCP server '${server}' did not execute '${name}': ${reasonOf(error)}.`)
    }
  }
  return {
    name,
    definition: {
      kind: 'MCPToolDefinition',
      title: name,
      description: shortened(listed.description ?? listed.title ?? `A tool of the MCP server '${server}'.`),
      action_type: 'MCPToolAction',
      observation_type: 'MCPToolObservation',
      annotations,
      meta: (listed['_meta'] as Record<string, unknown> | undefined) ?? null,
      mcp_tool: listed,
    },
    parameters: schema.schema,
    origin: originOf(server, at, listed),
    isReadOnly,
    parse: (args) => {
      const data = schema.restore(args)
      expectFitting(check, data)
      // In a member of their own, so that an argument called `kind` is not taken for the action's kind.
      return { kind: 'MCPToolAction', data }
    },
    resources: () => null,
    execute: (action, context) => execute(action as MCPToolAction, context),
    // The server's effects are not recorded; only a read-only call is repeated.
    recover: () => Promise.resolve(isReadOnly ? { kind: 'execute' } : { kind: 'unknown' }),
  }
}

/** Name of the server, and a digest of its place, the tool's name there, and its schema. */
function originOf(server: string, at: string, { name, inputSchema }: ListedTool): string {
  const digest = createHash('sha256').update(JSON.stringify([server, at, name, inputSchema]))
  return `${server}#${digest.digest('hex').slice(0, 16)}`
}

const pairOf = (values: Record<string, string>, name: string): [string, string][] => {
  const value = values[name]
  return value === undefined ? [] : [[name, value]]
}

const shortened = (text: string) =>
  text.length <= MAX_DESCRIPTION_CHARS ? text : `${text.slice(0, MAX_DESCRIPTION_CHARS - 1)}…`
