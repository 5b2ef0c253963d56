/**
 * The rule of who may import whom (docs/architecture.md), as data and one pure question.
 *   L1. A room imports rooms on lower lines only; rooms on one line do not know each other.
 *   L2. A room, and a package, is entered through its `index.ts` (a package: by its name).
 *   L3. `agent`, `tools`, `security` and `hooks` never import `storage` or `coordination`.
 *   L4. A library has one home.
 *   L5. `protocol`, `client` and `web` run in a browser: no `node:*`.
 *   L6. Sources never import tests or test parts.
 */
import { posix } from 'node:path'

/** Rooms of packages/server/src, top line first. What joins them (the folder `join`, and files beside the rooms) stands above them all. */
const lines = [
  ['config'],
  ['http', 'webhooks'],
  ['conversation'],
  ['agent'],
  ['tools', 'security', 'hooks', 'skills'],
  ['settings', 'llm', 'workspace'],
  ['secrets'],
  ['storage', 'coordination'],
  ['observability', 'lib'],
]
const lineOf = new Map(lines.flatMap((rooms, line) => rooms.map((room) => [room, line])))

const closedEdges = ['agent', 'tools', 'security', 'hooks'].flatMap((from) => [
  `${from}>storage`,
  `${from}>coordination`,
])

/** Packages of ours that each package may import. */
const packages: Record<string, readonly string[]> = {
  protocol: [],
  client: ['protocol'],
  web: ['client', 'protocol'],
  server: ['client', 'protocol'],
  cli: ['client', 'protocol', 'server'],
}

/** Libraries that only one room may import. A name that ends in a slash stands for everything under it. */
const homes: Record<string, string> = {
  '@ai-sdk/': 'llm',
  ai: 'llm',
  '@pydantic/genai-prices': 'llm',
  'node:sqlite': 'storage',
  pg: 'storage',
  nats: 'coordination',
  '@nats-io/': 'coordination',
  fastify: 'http',
  '@fastify/': 'http',
  ws: 'http',
  '@lydell/node-pty': 'workspace',
  'node:child_process': 'workspace',
  'node:cluster': 'workspace',
  '@modelcontextprotocol/': 'tools',
  'playwright-core': 'tools',
  '@agentclientprotocol/': 'agent',
  '@huggingface/jinja': 'agent',
  standardwebhooks: 'webhooks',
  unbash: 'security',
  yaml: 'skills',
  re2js: 'security',
  pino: 'observability',
  'prom-client': 'observability',
  '@opentelemetry/': 'observability',
  // The server speaks to another agent server for one thing only: a workspace there.
  '@parley/client': 'workspace',
}

/** A test, or a part made for tests: not subject to the rule, and not to be imported by what is. */
export const isTestPart = (path: string): boolean => /\.test\.tsx?$|\.testing\.ts$|^test\/|\/testing\//.test(path)

type Place = { readonly pkg: string; readonly room: string | undefined }

/** The package of a source file, and its room when it is in one. */
function placeOf(file: string): Place {
  const [, pkg = '', , ...rest] = file.split('/')
  return { pkg, room: rest.length > 1 && rest[0] !== 'join' ? rest[0] : undefined }
}

/** What is wrong with `file` (a path below packages/, not a test) importing `specifier`; null when it may. */
export function fault(file: string, specifier: string): string | null {
  const from = placeOf(file)
  if (from.pkg === 'server' && from.room !== undefined && !lineOf.has(from.room)) {
    return `the room ${from.room} has no line; give it one in test/layers/rules.ts`
  }
  return specifier.startsWith('.') ? faultOfPath(from, file, specifier) : faultOfName(from, specifier)
}

function faultOfPath(from: Place, file: string, specifier: string): string | null {
  const target = posix.join(posix.dirname(file), specifier)
  if (isTestPart(target)) return 'sources do not import tests'
  if (!target.startsWith(`packages/${from.pkg}/src/`)) return 'another package is imported by its name'
  const to = placeOf(target)
  if (from.pkg !== 'server' || to.room === from.room) return null
  if (to.room === undefined) return from.room === undefined ? null : 'a room does not import what joins the rooms'
  if (target !== `packages/server/src/${to.room}/index.ts`) return `${to.room} is entered through its index.ts`
  if (from.room === undefined) return null
  if (closedEdges.includes(`${from.room}>${to.room}`)) return `${from.room} never imports ${to.room}`
  const [above, below] = [lineOf.get(from.room), lineOf.get(to.room)]
  if (above === undefined || below === undefined || above >= below) return `${to.room} is not below ${from.room}`
  return null
}

function faultOfName({ pkg, room }: Place, specifier: string): string | null {
  if (specifier.startsWith('node:') && ['protocol', 'client', 'web'].includes(pkg)) return `${pkg} runs in a browser`
  const [, other, deep] = /^@parley\/([^/]+)(\/.*)?$/.exec(specifier) ?? []
  if (deep !== undefined) return 'a package is entered by its name alone'
  if (other !== undefined && !packages[pkg]?.includes(other)) return `${pkg} does not import ${other}`
  if (pkg === 'protocol' && specifier !== 'zod') return 'protocol depends on zod alone'
  const home = Object.entries(homes).find(([name]) => isUnder(name, specifier))?.[1]
  if (home === undefined || (pkg === 'server' && room === home)) return null
  // The command line runs programs of the person who typed it; what an agent runs is the server's business.
  if (pkg === 'cli' && specifier === 'node:child_process') return null
  // The command line talks to a server as every client does, and the browser has its own libraries.
  if (specifier.startsWith('@parley/') && pkg !== 'server') return null
  return `${specifier} has its home in ${home}`
}

const isUnder = (name: string, specifier: string): boolean =>
  specifier === name || specifier.startsWith(name.endsWith('/') ? name : `${name}/`)
