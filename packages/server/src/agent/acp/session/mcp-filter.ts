/**
 * A filter in front of an MCP server that the external agent starts: tools whose names do not match are neither listed nor
 * called. The filter is a separate program, passed to Node as text, because the agent may run in a sandbox that does not
 * contain our files. It reads JSON lines and has no dependencies.
 */
import { execPath } from 'node:process'
import { boundedMatchSource } from '../../../tools/index.ts'

/** Milliseconds that the matcher may take at once for all names together. */
const LIMIT_MS = 1000

const program = () => `
const { spawn } = require('node:child_process')
const { createInterface } = require('node:readline')
const [filter, command, ...args] = process.argv.slice(1)
const match = ${boundedMatchSource()}(filter, ${LIMIT_MS}, require('node:vm'))
const passes = (name) => match(String(name)) === true
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
child.on('error', (error) => { process.stderr.write(error.message + '\\n'); process.exit(127) })
child.on('exit', (code) => process.exit(code ?? 1))
child.stdin.on('error', () => {})
const lists = new Set()
const key = (id) => typeof id + ':' + id
const parsed = (line) => { try { return JSON.parse(line) } catch { return null } }
createInterface({ input: process.stdin }).on('line', (line) => {
  const message = parsed(line)
  if (message && message.method === 'tools/list') lists.add(key(message.id))
  if (message && message.method === 'tools/call' && !passes(message.params && message.params.name)) {
    const error = { code: -32602, message: 'This tool is not offered here.' }
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: message.id, error }) + '\\n')
    return
  }
  child.stdin.write(line + '\\n')
}).on('close', () => child.stdin.end())
createInterface({ input: child.stdout }).on('line', (line) => {
  const message = parsed(line)
  if (message && message.method === undefined && lists.delete(key(message.id)) && message.result && Array.isArray(message.result.tools)) {
    message.result.tools = message.result.tools.filter(({ name }) => passes(name))
    process.stdout.write(JSON.stringify(message) + '\\n')
  } else process.stdout.write(line + '\\n')
})
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => child.kill(signal))
`

/** The command line that starts `line` behind a filter of tool names. */
export const filteredCommand = (filter: string, line: readonly string[]): string[] => [
  execPath,
  '-e',
  program(),
  filter,
  ...line,
]
