/**
 * `${NAME}` in the configuration of an MCP server and in the arguments of its tools. Pure. Only secrets of the
 * conversation and its
 * owner are inserted, nothing of the server's own environment. Source: agent-core.md 1.4, 8.12; F17.
 */
import type { MCPServer } from '@parley/protocol'

type Values = Readonly<Record<string, string>>

const IN_CONFIG = /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g
const IN_ARGUMENTS = /\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g

/** Returns the names in a server's configuration, each once. The server may receive these secrets, and no others. */
export function namesIn(server: MCPServer): string[] {
  const names = new Set<string>()
  replaceTexts(expandable(server), (text) => {
    for (const [, name] of text.matchAll(IN_CONFIG)) names.add(name!)
    return text
  })
  return [...names]
}

/** Returns the configuration with values for its placeholders; one without a value and without a default stays. */
export function expandServer(server: MCPServer, values: Values): MCPServer {
  const filled = replaceTexts(expandable(server), (text) =>
    text.replaceAll(IN_CONFIG, (whole, name: string, otherwise?: string) => own(values, name) ?? otherwise ?? whole),
  )
  return { ...server, ...(filled as Partial<MCPServer>) }
}

/** Returns the names of `allowed` secrets in the arguments of a call, as `$NAME` or `${NAME}`. */
export function namesInArguments(args: unknown, allowed: readonly string[]): string[] {
  const names = new Set<string>()
  if (allowed.length === 0) return []
  replaceTexts(args, (text) => {
    for (const [, braced, bare] of text.matchAll(IN_ARGUMENTS)) {
      const name = braced ?? bare!
      if (allowed.includes(name)) names.add(name)
    }
    return text
  })
  return [...names]
}

/** Returns the arguments with these values inserted; any other `$…` stays. */
export function expandArguments<T>(args: T, values: Values): T {
  if (Object.keys(values).length === 0) return args
  const fill = (text: string) =>
    text.replaceAll(IN_ARGUMENTS, (whole, braced?: string, bare?: string) => own(values, braced ?? bare ?? '') ?? whole)
  return replaceTexts(args, fill) as T
}

/** The members of a configuration that may contain placeholders. */
const expandable = ({ url, command, args, env, cwd, headers, auth }: MCPServer) => ({
  url,
  command,
  args,
  env,
  cwd,
  headers,
  auth,
})

const own = (values: Values, name: string): string | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined

/** Returns a copy with every text replaced; names of members stay. */
function replaceTexts(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === 'string') return replace(value)
  if (Array.isArray(value)) return value.map((item: unknown) => replaceTexts(item, replace))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, replaceTexts(member, replace)]))
}
