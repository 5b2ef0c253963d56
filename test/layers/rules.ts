/**
 * The import rules (docs/architecture.md) as data, and one pure function that checks an import.
 *   L1. A module imports only modules on lower lines; modules on one line do not import each other.
 *   L2. A module is imported through its `index.ts`, a package by its name.
 *   L3. `agent`, `tools`, `security` and `hooks` never import `storage`.
 *   L4. A library is imported by one module only.
 *   L5. `protocol`, `client` and `web` run in a browser: no `node:*`. `web` takes only types from `protocol`, because its schemas are larger than the UI
 *       (test/layers.test.ts).
 *   L6. Sources never import tests or test helpers.
 *   L7. A part of `conversation` (a folder, or a file beside the folders) imports only parts on lower lines. Every folder has
 *       a line. A file without a line is above all parts.
 */
import { posix } from 'node:path'

/** Modules of packages/server/src, top line first. The composition root (`compose`, and files beside the modules) is above them. */
const lines = [
  ['config'],
  ['http', 'webhooks'],
  ['demo'],
  ['conversation'],
  ['agent'],
  ['tools', 'security', 'hooks', 'skills'],
  ['settings', 'llm', 'workspace'],
  ['quotas', 'secrets'],
  ['coordination'],
  ['storage'],
  ['egress'],
  ['observability', 'lib'],
]
const lineOf = new Map(lines.flatMap((modules, line) => modules.map((module) => [module, line])))

const closedEdges = ['agent', 'tools', 'security', 'hooks'].map((from) => `${from}>storage`)

/** The packages of this repository that each package may import. */
const packages: Record<string, readonly string[]> = {
  protocol: [],
  client: ['protocol'],
  server: ['client', 'protocol'],
  cli: ['client', 'protocol', 'server'],
  web: ['client', 'protocol'],
}

/** Libraries that only one module, or a package other than the server, may import. A name that ends in a slash stands for everything under it. */
const homes: Record<string, string> = {
  '@ai-sdk/': 'llm',
  ai: 'llm',
  '@pydantic/genai-prices': 'llm',
  '@silvia-odwyer/photon-node': 'llm',
  'ipaddr.js': 'egress',
  'node:sqlite': 'storage',
  pg: 'storage',
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
  unbash: 'security',
  yaml: 'lib',
  re2js: 'security',
  pino: 'observability',
  react: 'web',
  'react-dom': 'web',
  wouter: 'web',
  '@tanstack/': 'web',
  'lucide-react': 'web',
  marked: 'web',
  anser: 'web',
  diff: 'web',
  '@earendil-works/pi-tui': 'cli',
  // The server calls another agent server for one purpose only: a workspace there.
  '@parley/client': 'workspace',
}

/** Parts of packages/server/src/conversation, top line first. */
const conversationLines = [
  ['engine'],
  ['sub-agents'],
  ['live'],
  ['commands.ts', 'listing.ts', 'run', 'start', 'titles'],
  ['log'],
  ['approvals.ts', 'completions', 'goal'],
  ['branch', 'checkpoints', 'definitions', 'hooks', 'trajectory', 'watch'],
  ['conversations.ts', 'live-access.ts', 'submission.ts'],
  ['drafts.ts', 'interruption.ts', 'record'],
]
const conversationLineOf = new Map(conversationLines.flatMap((parts, line) => parts.map((part) => [part, line])))

/** True for a test or a test helper: the rules do not apply to it, and sources do not import it. */
export const isTestPart = (path: string): boolean => /\.test\.tsx?$|\.testing\.ts$|^test\/|\/testing\//.test(path)

type Place = { readonly pkg: string; readonly module: string | undefined }

/** The package of a source file, and its module if it belongs to one. */
function placeOf(file: string): Place {
  const [, pkg = '', , ...rest] = file.split('/')
  return { pkg, module: rest.length > 1 && rest[0] !== 'compose' ? rest[0] : undefined }
}

/** Why `file` (a path below packages/, not a test) may not import `specifier`; null when it may. */
export function fault(file: string, specifier: string): string | null {
  const from = placeOf(file)
  if (from.pkg === 'server' && from.module !== undefined && !lineOf.has(from.module)) {
    return `the module ${from.module} has no line; give it one in test/layers/rules.ts`
  }
  return specifier.startsWith('.') ? faultOfPath(from, file, specifier) : faultOfName(from, specifier)
}

function faultOfPath(from: Place, file: string, specifier: string): string | null {
  const target = posix.join(posix.dirname(file), specifier)
  if (isTestPart(target)) return 'sources do not import tests'
  if (!target.startsWith(`packages/${from.pkg}/src/`)) return 'another package is imported by its name'
  if (from.pkg !== 'server') return null
  const to = placeOf(target)
  if (to.module === from.module) return from.module === 'conversation' ? faultInConversation(file, target) : null
  if (to.module === undefined) return from.module === undefined ? null : 'a module does not import the composition root'
  if (target !== `packages/server/src/${to.module}/index.ts`) return `${to.module} is entered through its index.ts`
  if (from.module === undefined) return null
  if (closedEdges.includes(`${from.module}>${to.module}`)) return `${from.module} never imports ${to.module}`
  return isBelow(lineOf, from.module, to.module) ? null : `${to.module} is not below ${from.module}`
}

/** Rule L7. */
function faultInConversation(file: string, target: string): string | null {
  const [from, to] = [partOf(file), partOf(target)]
  for (const part of [from, to])
    if (!part.endsWith('.ts') && !conversationLineOf.has(part))
      return `the folder conversation/${part} has no line; give it one in test/layers/rules.ts`
  if (from === to || !conversationLineOf.has(from)) return null
  return isBelow(conversationLineOf, from, to) ? null : `conversation/${to} is not below conversation/${from}`
}

/** The folder of `conversation` that a file is in, or the file itself when it lies beside the folders. */
const partOf = (path: string): string => path.split('/')[4]!

function isBelow(lines: ReadonlyMap<string, number>, from: string, to: string): boolean {
  const [above, below] = [lines.get(from), lines.get(to)]
  return above !== undefined && below !== undefined && above < below
}

function faultOfName({ pkg, module }: Place, specifier: string): string | null {
  if (specifier.startsWith('node:') && ['protocol', 'client', 'web'].includes(pkg)) return `${pkg} runs in a browser`
  const [, other, deep] = /^@parley\/([^/]+)(\/.*)?$/.exec(specifier) ?? []
  if (deep !== undefined) return 'a package is entered by its name alone'
  if (other !== undefined && !packages[pkg]?.includes(other)) return `${pkg} does not import ${other}`
  if (pkg === 'protocol' && specifier !== 'zod') return 'protocol depends on zod alone'
  const home = Object.entries(homes).find(([name]) => isUnder(name, specifier))?.[1]
  if (home === undefined || (pkg === 'server' ? module : pkg) === home) return null
  // The command line starts programs for the person who typed the command.
  if (pkg === 'cli' && specifier === 'node:child_process') return null
  // The command line calls a server as every client does.
  if (specifier.startsWith('@parley/') && pkg !== 'server') return null
  return `${specifier} has its home in ${home}`
}

const isUnder = (name: string, specifier: string): boolean =>
  specifier === name || specifier.startsWith(name.endsWith('/') ? name : `${name}/`)
