/** Finds the places in the sources where a value of a request is refused. */
import { nodesOf, readSource, sourceFiles, type Node } from '../../source-files.ts'

/** A call that refuses a value: its file, below `packages/server/src`, and its text without line breaks. */
export type Site = { file: string; text: string }

const SOURCES = 'packages/server/src/'
const REFUSES = new Set(['invalidInput', 'unfit'])

/** Every refusal in the server's sources. A call of a local function that only completes a message counts, the function does not. */
export function refusalSites(): Site[] {
  return sourceFiles(`${SOURCES}**/*.ts`)
    .filter((path) => !/\.(?:test|testing)\.ts$/.test(path))
    .flatMap((path) => {
      const source = readSource(path)
      if (![...REFUSES].some((name) => source.includes(`${name}(`))) return []
      const nodes = nodesOf(path, source)
      const makers = makersIn(nodes)
      const inMakers = nodes.flatMap((node) =>
        makers.has(nameOf(node)) || REFUSES.has(nameOf(node)) ? [functionOf(node)] : [],
      )
      return nodes
        .filter((node) => node.type === 'CallExpression' && callee(node) !== '')
        .filter((node) => REFUSES.has(callee(node)) || makers.has(callee(node)))
        .filter((node) => !inMakers.some((maker) => maker !== null && isInside(node, maker)))
        .map((node) => ({ file: path.slice(SOURCES.length), text: flat(source.slice(start(node), end(node))) }))
    })
}

/** Names of functions that refuse with a message of their parameters. */
function makersIn(nodes: readonly Node[]): Set<string> {
  const makers = new Set<string>()
  for (const node of nodes) {
    const made = functionOf(node)
    if (made === null) continue
    const parameters = new Set(identifiers(made['params']))
    const refuses = nodesIn(nodes, made).filter(
      (call) => call.type === 'CallExpression' && (REFUSES.has(callee(call)) || makers.has(callee(call))),
    )
    const messages = refuses.flatMap((call) => identifiers((call['arguments'] as Node[])[0]))
    if (isShort(made) && messages.some((name) => parameters.has(name))) makers.add(nameOf(node))
  }
  return makers
}

/** Functions that do more than to complete a message have refusals of their own. */
const isShort = (made: Node): boolean => end(made) - start(made) < 400

/** The function that a declaration names; null for any other node. */
function functionOf(node: Node): Node | null {
  if (node.type === 'FunctionDeclaration') return node
  const { init } = node as unknown as { init?: Node | null }
  return node.type === 'VariableDeclarator' && init?.type === 'ArrowFunctionExpression' ? init : null
}

const nameOf = (node: Node): string => ((node['id'] ?? {}) as { name?: string }).name ?? ''
const callee = (node: Node): string => ((node['callee'] ?? {}) as { name?: string }).name ?? ''
const start = (node: Node): number => node['start'] as number
const end = (node: Node): number => node['end'] as number
const isInside = (node: Node, outer: Node): boolean => start(node) >= start(outer) && end(node) <= end(outer)
const nodesIn = (nodes: readonly Node[], outer: Node): Node[] => nodes.filter((node) => isInside(node, outer))
const flat = (text: string): string => text.replaceAll(/\s+/g, ' ')

function identifiers(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(identifiers)
  if (typeof value !== 'object' || value === null) return []
  const { type, name } = value as { type?: string; name?: string }
  if (type === 'Identifier' && name !== undefined) return [name]
  return Object.entries(value).flatMap(([member, inner]) => (member === 'typeAnnotation' ? [] : identifiers(inner)))
}
