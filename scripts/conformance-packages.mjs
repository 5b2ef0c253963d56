/**
 * Uses the packages as strangers do: `npm run conformance:packages`. Packs the three, installs the archives into an empty folder
 * outside the repository, starts the installed server, calls it with `@parley/client` from Node and from a page that Vite has built,
 * and ends with `N passed, N failed`, exit code 0 or 1; exit code 77 and one line where the registry does not answer.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const NOT_RUN = 77
const PACKAGES = ['protocol', 'client', 'cli']
const KEY = 'key-of-a-stranger'

const folder = mkdtempSync(join(tmpdir(), 'parley-packages-'))
const results = []
/** Functions that release resources at the end, newest first. */
const opened = []

async function check(title, run) {
  try {
    await run()
    results.push(true)
    console.log(`ok      ${title}`)
  } catch (error) {
    results.push(false)
    console.log(`FAILED  ${title}\n        ${String(error.stderr ?? error.stack ?? error)}`)
  }
}

function expect(condition, message) {
  if (!condition) throw new Error(message)
}

/** npm with the Node that runs this. */
function npm(cwd, ...args) {
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
  const options = { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, PATH } }
  return execFileSync('npm', args, options)
}

const node = (...args) =>
  execFileSync(process.execPath, args, {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  })

function pack() {
  execFileSync(process.execPath, [join(root, 'scripts', 'build-packages.mjs')], { stdio: 'ignore' })
  mkdirSync(join(folder, 'archives'))
  const folders = PACKAGES.map((name) => join(root, 'dist', 'packages', name))
  npm(root, 'pack', '--pack-destination', join(folder, 'archives'), ...folders)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'stranger', private: true, type: 'module' }))
  return readdirSync(join(folder, 'archives')).map((name) => `./archives/${name}`)
}

/** The installed server; resolves to its address when it listens. */
async function serve() {
  const child = spawn(process.execPath, [join(folder, 'node_modules', '.bin', 'parley'), 'serve', '--port', '0'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      PARLEY_DATA_DIR: join(folder, 'data'),
      PARLEY_SESSION_API_KEYS: KEY,
      PARLEY_ALLOW_ROOT: 'true',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  opened.unshift(async () => {
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await exited
  })
  let output = ''
  for await (const piece of child.stdout.setEncoding('utf8')) {
    output += piece
    const url = /listening on (\S+)/.exec(output)?.[1]
    if (url !== undefined) return url
  }
  throw new Error(`the installed server ended: ${output}`)
}

const program = (url) => `
import { CallError, newConversationId, ParleyClient } from '@parley/client'
const client = new ParleyClient({ baseUrl: ${JSON.stringify(url)}, apiKey: ${JSON.stringify(KEY)} })
export async function visit() {
  const { version } = await client.serverInfo()
  const { conversation_id } = await client.startFromSettings({})
  const info = await client.info(conversation_id)
  const refusal = await client.info(newConversationId()).catch((error) => error)
  if (!(refusal instanceof CallError) || refusal.status !== 404) throw new Error('an unknown conversation was found')
  return \`\${version} \${info.id === conversation_id}\`
}
`

/** Files of a folder over HTTP; resolves to the address. */
async function serveFiles(folder) {
  const types = { html: 'text/html', js: 'text/javascript' }
  const server = createServer((request, response) => {
    const file = join(folder, request.url === '/' ? 'index.html' : new URL(request.url, 'http://x').pathname)
    if (!existsSync(file)) return response.writeHead(404).end()
    response.writeHead(200, { 'Content-Type': types[file.split('.').at(-1)] ?? 'text/plain' }).end(readFileSync(file))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.unshift(() => new Promise((resolve) => server.close(resolve).closeAllConnections()))
  return `http://127.0.0.1:${server.address().port}`
}

async function openPage(url) {
  const { chromium } = await import('playwright-core')
  const path = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)
  expect(path !== undefined, 'no Chromium is installed')
  const browser = await chromium.launch({
    executablePath: path,
    args: ['--no-sandbox', '--disable-background-networking'],
  })
  opened.unshift(() => browser.close())
  const page = await browser.newPage()
  const errors = []
  page.on('pageerror', (error) => errors.push(String(error)))
  await page.goto(url)
  await page.waitForFunction(() => document.title !== 'waiting', { timeout: 30_000 }).catch(() => undefined)
  return `${await page.title()} ${errors.join('; ')}`.trim()
}

async function main() {
  const archives = pack()
  try {
    npm(folder, 'install', '--no-audit', '--no-fund', ...archives)
  } catch (error) {
    if (!/E(AI_AGAIN|NOTFOUND|CONNREFUSED|TIMEDOUT)|network/.test(String(error.stderr))) throw error
    console.log('conformance:packages was not run: the package registry does not answer')
    return NOT_RUN
  }
  await check('every package has a README, a licence and types', () => {
    for (const name of PACKAGES) {
      const files = readdirSync(join(folder, 'node_modules', '@parley', name))
      expect(files.includes('README.md') && files.includes('LICENSE'), `${name} holds ${files.join(', ')}`)
    }
    for (const name of ['protocol', 'client'])
      expect(existsSync(join(folder, 'node_modules', '@parley', name, 'dist', 'index.d.ts')), `${name} has no types`)
  })
  await check('the packages resolve in Node, and the client loads no schema library', () => {
    const code = `
      const { apply, Event } = await import('@parley/protocol')
      if (typeof apply !== 'function' || Event.safeParse({}).success) throw new Error('the protocol is not whole')`
    node('--input-type=module', '--eval', code)
    const alone = `
      import { registerHooks } from 'node:module'
      const loaded = []
      registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
      await import('@parley/client')
      const other = loaded.filter((url) => !url.includes('/@parley/client/') && url.startsWith('file:') && !url.endsWith('/[eval1]'))
      if (other.length > 0) throw new Error('the client loads ' + other.join(', '))`
    node('--input-type=module', '--eval', alone)
  })
  await check('TypeScript sees the types of the client', () => {
    const source = `
      import { ParleyClient, call, routes } from '@parley/client'
      import type { ConversationInfo } from '@parley/protocol'
      const server = { baseUrl: 'http://127.0.0.1' }
      export const info: Promise<ConversationInfo> = new ParleyClient(server).start({
        workspace: { kind: 'LocalWorkspace', working_dir: '/w' }, agent: { kind: 'Agent', llm: { model: 'm' } } })
      // @ts-expect-error: a count is a number
      export const count: Promise<string> = call(server, routes.countConversations, {})`
    writeFileSync(join(folder, 'types.ts'), source)
    const options = [
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--lib',
      'es2024,dom,esnext.disposable',
      '--strict',
      '--noEmit',
      '--types',
      '',
    ]
    node(join(root, 'node_modules', 'typescript', 'bin', 'tsc'), ...options, 'types.ts')
  })
  let url = ''
  await check('the installed binary serves', async () => {
    url = await serve()
    const response = await fetch(`${url}/api/conversations/count`, { headers: { 'X-Session-API-Key': KEY } })
    expect(response.status === 200, `the server answered ${response.status}`)
  })
  if (url === '') return 1
  writeFileSync(join(folder, 'visit.js'), program(url))
  await check('the client works in Node', async () => {
    const { visit } = await import(pathToFileURL(join(folder, 'visit.js')).href)
    expect(/^[\d.]+ true$/.test(await visit()), 'the conversation that was started was not found')
  })
  await check('the client works in a page built by Vite', async () => {
    writeFileSync(join(folder, 'index.html'), '<title>waiting</title><script type="module" src="./main.js"></script>')
    writeFileSync(
      join(folder, 'main.js'),
      `import { visit } from './visit.js'\nvisit().then((said) => (document.title = said), (error) => (document.title = String(error)))`,
    )
    const { build } = await import('vite')
    await build({ root: folder, logLevel: 'error', build: { outDir: join(folder, 'page') } })
    const scripts = readdirSync(join(folder, 'page', 'assets')).map((name) =>
      readFileSync(join(folder, 'page', 'assets', name), 'utf8'),
    )
    expect(!scripts.some((text) => text.includes('ZodError')), 'the page contains the schema library')
    const title = await openPage(await serveFiles(join(folder, 'page')))
    expect(/^[\d.]+ true$/.test(title), `the page says: ${title}`)
  })
  const passed = results.filter(Boolean).length
  console.log(`${passed} passed, ${results.length - passed} failed`)
  return passed === results.length ? 0 : 1
}

try {
  process.exitCode = await main()
} finally {
  for (const close of opened) await close()
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
