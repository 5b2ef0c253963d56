/**
 * Carries out the Dockerfile without a container engine: `npm run conformance:image`. Each step runs in a folder that bubblewrap shows as
 * the root of the image, as an account without rights; then the image's command runs, its health check, one conversation with a
 * command in its sandbox, and the end by SIGTERM. Ends with `N passed, N failed`, exit code 0 or 1; exit code 77 and one line where
 * bubblewrap or the package registries are missing.
 */
import { execFileSync, spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { copyContext, stagesIn, variablesIn } from './dockerfile.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const NOT_RUN = 77
/** A program of the machine, not of a package. */
const BWRAP = 'bwrap'
/** Messages of npm and apt without a network. */
const OFFLINE =
  /E(?:AI_AGAIN|NOTFOUND|CONNREFUSED|TIMEDOUT)|Temporary failure resolving|Could not resolve|Could not connect/
/** The account of the image, which has no rights on this machine. */
const ACCOUNT = ['--unshare-user', '--uid', '1000', '--gid', '1000']
/** The process file system: whole, as in a container with `systempaths=unconfined`; or partly hidden, as in every other container. */
const WHOLE_PROC = ['--bind', '/proc', '/proc']
const MASKED_PROC = ['--unshare-pid', '--proc', '/proc']
/** Folders that the steps write. */
const WRITTEN = ['build', 'opt', 'data']
const KEY = 'key-of-the-image-0123456789'

const folder = mkdtempSync(join(tmpdir(), 'parley-image-'))
const results = []

async function check(title, run) {
  try {
    await run()
    results.push(true)
    console.log(`ok      ${title}`)
  } catch (error) {
    results.push(false)
    console.log(`FAILED  ${title}\n        ${String(error.stderr || error.stack || error)}`)
  }
}

function expect(condition, message) {
  if (!condition) throw new Error(message)
}

/** The programs of this machine as those of the base image: its Node is the pinned one, and nothing is installed in /usr/local. */
function baseImage(home) {
  const npm = join(
    realpathSync(execFileSync('which', ['npm'], { encoding: 'utf8', env: { PATH: systemPath() } }).trim()),
    '..',
    '..',
  )
  const links = ['bin', 'sbin', 'lib', 'lib64'].filter((name) => existsSync(`/${name}`))
  return [
    '--ro-bind',
    '/usr',
    '/usr',
    '--ro-bind',
    '/etc',
    '/etc',
    '--ro-bind',
    '/var',
    '/var',
    ...links.flatMap((name) =>
      lstatSync(`/${name}`).isSymbolicLink()
        ? ['--symlink', readlinkSync(`/${name}`), `/${name}`]
        : ['--ro-bind', `/${name}`, `/${name}`],
    ),
    '--tmpfs',
    '/usr/local',
    '--ro-bind',
    realpathSync(process.execPath),
    '/usr/local/bin/node',
    '--ro-bind',
    npm,
    '/usr/local/lib/node_modules/npm',
    '--symlink',
    '../lib/node_modules/npm/bin/npm-cli.js',
    '/usr/local/bin/npm',
    '--bind',
    join(folder, 'lists'),
    '/var/lib/apt/lists',
    '--tmpfs',
    '/var/cache/apt',
    '--tmpfs',
    '/tmp',
    '--tmpfs',
    '/run',
    '--dev',
    '/dev',
    '--dir',
    '/tmp/home',
    ...WRITTEN.flatMap((name) => ['--bind', join(home, name), `/${name}`]),
  ]
}

const systemPath = () =>
  process.env.PATH.split(':')
    .filter((dir) => !dir.includes('node_modules'))
    .join(':')

/** Settings of this machine for its package registries. */
const registries = () =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) =>
      /^(?:NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|https?_proxy|no_proxy|npm_config_registry|npm_config_cafile)$/i.test(name),
    ),
  )

/** Runs a program in the root of a stage; resolves to its output. */
function inStage({ home, env, cwd }, argv, { more = MASKED_PROC, limitMs = 600_000 } = {}) {
  const variables = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: '/tmp/home',
    APT_CONFIG: '/etc-apt.conf',
    ...registries(),
    ...env,
  }
  const args = [
    '--die-with-parent',
    ...ACCOUNT,
    ...baseImage(home),
    '--ro-bind',
    join(folder, 'apt.conf'),
    '/etc-apt.conf',
    ...more,
    '--clearenv',
    ...Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]),
    '--chdir',
    cwd,
    '--',
    ...argv,
  ]
  return new Promise((resolve, reject) => {
    const child = spawn(BWRAP, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: limitMs })
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text) => void (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text) => void (stderr += text))
    child.on('error', reject)
    child.on('close', (code) =>
      code === 0
        ? resolve({ stdout, stderr })
        : reject(
            Object.assign(new Error(`exit code ${code}`), {
              stderr: `${stderr.slice(-3000)}\n${stdout.slice(-3000)}`,
              stdout,
            }),
          ),
    )
  })
}

/** A conversation whose scripted model runs one command, from inside; prints what came of it as JSON. */
const VISIT = `
const call = async (path, body) => (await fetch('http://127.0.0.1:8000' + path, { method: body ? 'POST' : 'GET',
  headers: { 'X-Session-API-Key': '${KEY}', 'Content-Type': 'application/json' }, ...(body && { body: JSON.stringify(body) }) })).json()
const { conversation_id: id } = await call('/api/conversations', { initial_user_msg: 'go' })
let status
do { await new Promise((resolve) => setTimeout(resolve, 100)); status = (await call('/api/conversations/' + id + '/status')).execution_status } while (status === 'running' || status === 'idle' || status === undefined)
const { items } = await call('/api/conversations/' + id + '/events/search?limit=100')
const seen = items.find(({ kind }) => kind === 'ObservationEvent')
const { isolation } = await call('/server_info')
console.log('VISIT ' + JSON.stringify({ status, isolation, observation: seen?.observation }))
`
const SCRIPT = [
  { tool_calls: [{ name: 'terminal', arguments: { command: 'echo "as $(id -u)" && ls /data/parley.db 2>&1' } }] },
  { text: 'done' },
]

/** Starts the command of the image, waits for its health check, visits it, and ends it as a container engine does. */
async function serve(stage, { command, health }, more = WHOLE_PROC) {
  const data = join(stage.home, 'data')
  rmSync(data, { recursive: true, force: true })
  mkdirSync(join(data, 'scripts'), { recursive: true, mode: 0o700 })
  writeFileSync(join(data, 'scripts', 'visit.json'), JSON.stringify(SCRIPT))
  writeFileSync(join(data, 'visit.mjs'), VISIT)
  const quoted = (argv) => argv.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
  const script = `${quoted(command)} 2>/data/log & server=$!
    for n in $(seq 300); do ${quoted(health)} && break; kill -0 $server || break; sleep 0.2; done
    ${quoted(health)} && echo HEALTHY; node /data/visit.mjs; from=$(date +%s)
    kill -TERM $server; wait $server; echo "ENDED $? $(($(date +%s) - from))"; cat /data/log`
  const env = {
    ...stage.env,
    PARLEY_SESSION_API_KEYS: KEY,
    PARLEY_LLM_MODEL: 'scripted/visit',
    // The runner outlives the server, and here no container ends it.
    PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '1',
  }
  const { stdout, stderr } = await inStage({ ...stage, env }, ['/bin/sh', '-c', script], {
    more: ['--unshare-net', ...more],
    limitMs: 180_000,
  })
  const visit = /^VISIT (.*)$/m.exec(stdout)?.[1]
  expect(visit !== undefined, `no visit: ${stdout.slice(-3000)}\n${stderr}`)
  return { output: stdout, visit: JSON.parse(visit) }
}

async function main() {
  if (spawnSyncOk(BWRAP, ['--unshare-user', '--ro-bind', '/', '/', 'true']) === false) {
    console.log('conformance:image was not run: bubblewrap does not work here')
    return NOT_RUN
  }
  mkdirSync(join(folder, 'lists', 'partial'), { recursive: true })
  // The packages are found and checked, but not installed: they are programs of this machine.
  writeFileSync(
    join(folder, 'apt.conf'),
    'APT::Sandbox::User "root";\nDebug::NoLocking "true";\nAPT::Get::Simulate "true";\n',
  )
  const stages = stagesIn(readFileSync(join(root, 'Dockerfile'), 'utf8'))
  const homes = new Map()
  let final = null
  const image = {}
  for (const { name, steps } of stages) {
    const home = join(folder, name)
    for (const each of WRITTEN) mkdirSync(join(home, each), { recursive: true })
    homes.set(name, home)
    const stage = { home, env: {}, cwd: '/' }
    for (const { name: step, rest } of steps) {
      if (step === 'WORKDIR') stage.cwd = rest
      else if (step === 'ENV') Object.assign(stage.env, variablesIn(rest))
      else if (step === 'CMD') image.command = JSON.parse(rest)
      else if (step === 'HEALTHCHECK') image.health = JSON.parse(rest.slice(rest.indexOf('[')))
      else if (step === 'USER') image.user = rest
      else if (step === 'VOLUME') image.volume = rest
      else if (step === 'COPY') {
        const [, from, source, target] = /^(?:--from=(\w+) )?(\S+) (\S+)$/.exec(rest)
        if (from === undefined) copyContext(root, join(home, stage.cwd.slice(1)))
        else cpSync(join(homes.get(from), source), join(home, target), { recursive: true, verbatimSymlinks: true })
      } else if (step === 'RUN') {
        try {
          await inStage(stage, ['/bin/sh', '-c', String(rest)])
        } catch (error) {
          if (OFFLINE.test(String(error.stderr))) {
            console.log('conformance:image was not run: the package registries do not answer')
            return NOT_RUN
          }
          console.log(`FAILED  RUN ${String(rest)}\n        ${String(error.stderr)}`)
          return 1
        }
        results.push(true)
        console.log(`ok      RUN ${String(rest)}`)
      } else expect(step === 'EXPOSE', `the instruction ${String(step)} is not known here`)
    }
    final = stage
  }
  await check('the image does not run as root, and its data is a volume', () => {
    expect(image.user === '1000:1000' && image.volume === final.env.PARLEY_DATA_DIR, JSON.stringify(image))
  })
  await check(
    'the command of the image serves a conversation whose command runs in a sandbox, and ends after SIGTERM',
    async () => {
      const { output, visit } = await serve(final, image)
      expect(/^HEALTHY$/m.test(output), `the health check fails: ${output}`)
      const text = JSON.stringify(visit.observation)
      expect(visit.status === 'finished' && visit.isolation.level === 'bubblewrap', JSON.stringify(visit))
      expect(/as 1000/.test(text) && /No such file/.test(text), `the command printed ${text}`)
      const [, code, seconds] = /^ENDED (\d+) (\d+)$/m.exec(output)
      expect(code === '0' && Number(seconds) <= 10, `it ended with ${code} after ${seconds} s`)
    },
  )
  const kinds = {
    'user namespaces': ['--disable-userns', ...WHOLE_PROC],
    'a whole process file system': MASKED_PROC,
  }
  for (const [missing, options] of Object.entries(kinds))
    await check(`without ${missing}, the start says what a container needs for the sandbox`, async () => {
      const { output, visit } = await serve(final, image, options)
      expect(visit.status === 'finished' && visit.isolation.level === 'none', JSON.stringify(visit))
      const line = output.split('\n').find((each) => each.includes('run without a sandbox')) ?? ''
      const isNamed =
        /bubblewrap does not work here/.test(line) && /docs\/deployment\.md, The sandbox in a container/.test(line)
      expect(isNamed, `the log says: ${output.slice(-2000)}`)
    })
  const passed = results.filter(Boolean).length
  console.log(`${passed} passed, ${results.length - passed} failed`)
  return passed === results.length ? 0 : 1
}

function spawnSyncOk(program, args) {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

try {
  process.exitCode = await main()
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
