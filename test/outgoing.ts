/** Finds the places of a source where a request to another machine can be made. Pure. */
import { nodesOf, type Node } from './source-files.ts'

/** Modules that open connections, with the exports that open none. */
const MODULES: Readonly<Record<string, readonly string[]>> = {
  'node:http': ['STATUS_CODES', 'METHODS'],
  'node:https': [],
  'node:http2': [],
  'node:net': ['isIP', 'isIPv4', 'isIPv6', 'BlockList', 'createServer'],
  'node:tls': [],
  'node:dgram': [],
  pg: [],
  undici: [],
  ws: ['WebSocketServer'],
}
const MAKERS = /^(?:fetch|WebSocket|EventSource|XMLHttpRequest|nodeHttps?|getBuiltinModule|operatorFetch|clientOf)$/
/** Libraries' clients that make requests with the `fetch` in their options. */
const CLIENTS =
  /^(?:create(?:Anthropic|OpenAI|OpenAICompatible|GoogleGenerativeAI)|SSEClientTransport|StreamableHTTPClientTransport)$/

type Child = Node & { name?: string; value?: unknown }

/** Names of what makes requests, such as `fetch` or `connect of node:net`, in the order of the source. */
export function outgoingIn(path: string, text: string): string[] {
  const nodes = nodesOf(path, text) as Child[]
  const found = nodes.flatMap((node) => [...ofImport(node), ...ofLibrary(node, nodes)])
  const bound = boundNames(nodes)
  const labels = labelsOf(nodes)
  for (const node of nodes) {
    if (node.type === 'MemberExpression' && nameOf(node['object']) === 'globalThis')
      found.push(...makers(nameOf(node['property'])))
    if (node.type === 'MemberExpression' && nameOf(node['property']) === 'getBuiltinModule')
      found.push('getBuiltinModule')
    if (node.type === 'Identifier' && !labels.has(node) && !bound.has(node.name!)) found.push(...makers(node.name))
  }
  return [...new Set(found)]
}

const makers = (name: string | undefined): string[] => (name !== undefined && MAKERS.test(name) ? [name] : [])
const nameOf = (node: unknown): string | undefined => (node as Child | undefined)?.name

function ofImport(node: Child): string[] {
  if (node.type === 'ImportExpression') return modulesIn([node['source']], 'everything')
  if (node.type !== 'ImportDeclaration' || node['importKind'] === 'type') return []
  const specifiers = node['specifiers'] as Child[]
  return specifiers.flatMap((each) => {
    if (each['importKind'] === 'type') return []
    return modulesIn([node['source']], nameOf(each['imported']) ?? 'everything')
  })
}

function modulesIn(sources: readonly unknown[], name: string): string[] {
  return sources.flatMap((source) => {
    const module = String((source as Child).value)
    const harmless = MODULES[module]
    return harmless === undefined || harmless.includes(name) || /^[A-Z]\w*Function$/.test(name)
      ? []
      : [`${name} of ${module}`]
  })
}

/** A client without a `fetch` of ours. Its options are the literal in its call, or the variable of that name. */
function ofLibrary(node: Child, nodes: readonly Child[]): string[] {
  if (node.type !== 'CallExpression' && node.type !== 'NewExpression') return []
  const callee = node['callee'] as Child
  const name = callee.name ?? nameOf(callee['property'])
  if (name === undefined || !CLIENTS.test(name)) return []
  const given = (node['arguments'] as Child[]).map((each) =>
    each.type === 'Identifier'
      ? nodes.find((other) => other.type === 'VariableDeclarator' && nameOf(other['id']) === each.name)?.['init']
      : each,
  ) as (Child | undefined)[]
  const isOurs = given.some((each) =>
    ((each?.['properties'] ?? []) as Child[]).some((member) => nameOf(member['key']) === 'fetch'),
  )
  return isOurs ? [] : [`${name} without fetch`]
}

/** Names that a file declares or imports: parameters, variables, functions. */
function boundNames(nodes: readonly Child[]): Set<string> {
  const names = new Set<string>()
  const visit = (pattern: unknown): void => {
    const node = pattern as Child | null | undefined
    if (node?.type === 'Identifier') names.add(node.name!)
    else if (node?.type === 'ObjectPattern')
      for (const each of node['properties'] as Child[]) visit(each.value ?? each['argument'])
    else if (node?.type === 'ArrayPattern') for (const each of node['elements'] as unknown[]) visit(each)
    else if (node?.type === 'AssignmentPattern') visit(node['left'])
  }
  for (const node of nodes) {
    if (Array.isArray(node['params'])) for (const each of node['params']) visit(each)
    if (node.type === 'VariableDeclarator') visit(node['id'])
    if (node.type === 'FunctionDeclaration') visit(node['id'])
  }
  return names
}

/** Identifiers that name a member or an import, and so are no use of the name. */
function labelsOf(nodes: readonly Child[]): Set<unknown> {
  const labels = new Set<unknown>()
  for (const node of nodes) {
    if (node.type === 'MemberExpression' && node['computed'] !== true) labels.add(node['property'])
    if ('key' in node && node['shorthand'] !== true) labels.add(node['key'])
    if (node.type === 'ImportSpecifier' || node.type === 'ExportSpecifier')
      for (const part of ['imported', 'local', 'exported']) labels.add(node[part])
    if (node.type.startsWith('TS')) for (const part of ['left', 'right', 'exprName', 'typeName']) labels.add(node[part])
  }
  return labels
}
