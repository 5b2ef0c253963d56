/**
 * Follows docs/deployment.md word by word: `npm run conformance:deployment`. Every shell example of the page, from three nodes on one
 * machine to the restore of a dump, runs in one shell, with the real npm, a PostgreSQL server that is started for it, and free ports in place of those of
 * the page; what it prints is compared with the page. Ends with `1 passed, 0 failed`, exit code 0 or 1.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../packages/server/testing/free-port.ts'
import { postgresServer } from '../packages/server/testing/postgres-server.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const LIMIT_MS = 8 * 60_000
const MARK = '=== next example ==='

const page = readFileSync(join(root, 'docs', 'deployment.md'), 'utf8')
const examples = [...page.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, code]) => code)

/** The output that an example shows: its comments. */
const shown = (code) =>
  code
    .split('\n')
    .filter((line) => line.startsWith('# '))
    .map((line) => line.slice(2))
    .join('\n')

async function main() {
  const home = mkdtempSync(join(tmpdir(), 'parley-newcomer-'))
  try {
    const server = new URL((await postgresServer()).url)
    // Files without a place of their own belong into the home.
    const inPlace = (code) => (/^pg_dump/m.test(code) ? `cd ~\n${code}` : code)
    let text = examples.map((code) => `${inPlace(code)}\necho; echo '${MARK}'\n`).join('')
    const ports = { 5432: server.port }
    const first = await consecutivePorts()
    for (const n of [1, 2, 3]) ports[`800${n}`] = String(first + n)
    ports['8010'] = String(await freePort())
    for (const [port, other] of Object.entries(ports)) text = text.replaceAll(new RegExp(`\\b${port}\\b`, 'g'), other)
    text = text.replaceAll('800$n', `$((${first} + n))`)
    const { code, stdout, stderr } = await shell(text, home, server)
    const printed = stdout.split(MARK).map((each) => each.trim())
    const wrong = examples.flatMap((example, at) => {
      // npm prints the name of what it runs.
      const own = (printed[at] ?? 'nothing').replaceAll(/^>.*\n|^built .*\n?|^(?:CREATE ROLE)\n?/gm, '').trim()
      return own === shown(example) ? [] : [`example ${at + 1} printed:\n${own}\nthe page shows:\n${shown(example)}`]
    })
    if (code !== 0 || wrong.length > 0) {
      console.log(`exit code ${code}\n${wrong.join('\n')}\n${stderr.slice(-4000)}`)
      for (const name of ['node1', 'node2', 'node3', 'workspaces'])
        try {
          console.log(
            `--- ${name}.log\n${readFileSync(join(home, 'parley-fleet', `${name}.log`), 'utf8').slice(-2000)}`,
          )
        } catch {
          console.log(`--- ${name}.log does not exist`)
        }
      console.log('0 passed, 1 failed')
      return 1
    }
    console.log(
      'ok      three nodes, one conversation, the loss of its node, a dump and its restore, as docs/deployment.md says',
    )
    console.log('1 passed, 0 failed')
    return 0
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 500 })
  }
}

/** A number before three free ports. */
async function consecutivePorts() {
  for (;;) {
    const first = await freePort()
    const isFree = await Promise.all([1, 2, 3].map((n) => canListen(first + n)))
    if (isFree.every(Boolean)) return first
  }
}

const canListen = (port) =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })

/** Runs the text as a person would, in the checkout. All that it has started and left ends with it. */
function shell(text, home, server) {
  const PATH = process.env.PATH.split(delimiter)
    .filter((dir) => !dir.includes('node_modules'))
    .join(delimiter)
  const env = {
    PATH,
    HOME: home,
    PGHOST: server.hostname,
    PGPORT: server.port,
    PGUSER: server.username,
    ...(process.getuid?.() === 0 ? { PARLEY_ALLOW_ROOT: 'true' } : {}),
    PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '5',
  }
  const child = spawn('bash', ['-euo', 'pipefail', '-c', text], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (piece) => void (stdout += piece))
  child.stderr.setEncoding('utf8').on('data', (piece) => void (stderr += piece))
  const late = setTimeout(() => process.kill(-Number(child.pid), 'SIGKILL'), LIMIT_MS)
  return new Promise((resolve) => {
    child.on('close', (code) => {
      clearTimeout(late)
      try {
        // The group that this shell has led.
        process.kill(-Number(child.pid), 'SIGKILL')
      } catch {
        // Everything has ended.
      }
      resolve({ code, stdout, stderr })
    })
  })
}

process.exitCode = await main()
