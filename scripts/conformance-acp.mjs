/**
 * Runs published ACP agents through a real server, against a scripted model on this machine:
 * `npm run conformance:acp [-- part of an agent's name]`. Each does one turn with a tool call and a request for permission.
 * Installs them into the user's cache folder, once, without running any of their install scripts. Ends with
 * `N passed, N failed`, exit code 0 or 1; one line names an agent that cannot be installed; exit code 77 when none can be.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const NOT_RUN = 77
const INSTALL_MS = 600_000
const TURN_MS = 180_000
const { platform, arch } = process

/** `command`: program and variables, from the folder of its packages, an empty home and the address of the model. */
const AGENTS = [
  {
    name: 'claude',
    packages: ['@agentclientprotocol/claude-agent-acp@0.100.0'],
    command: (at, _home, url) => ({
      argv: [process.execPath, at('@agentclientprotocol/claude-agent-acp/dist/index.js')],
      env: {
        // As root this agent refuses to run outside a sandbox.
        IS_SANDBOX: '1',
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'sk-fake-for-this-machine',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_TELEMETRY: '1',
        DISABLE_AUTOUPDATER: '1',
      },
    }),
  },
  {
    name: 'gemini',
    packages: ['@google/gemini-cli@0.61.0'],
    secrets: { GEMINI_API_KEY: 'fake-for-this-machine' },
    command: (at, _home, url) => ({
      argv: [process.execPath, at('@google/gemini-cli/bundle/gemini.js'), '--acp', '-m', 'gemini-2.5-flash'],
      env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    }),
  },
  {
    name: 'opencode',
    packages: [`opencode-${platform}-${arch}@1.18.33`],
    command: (at, _home, url) => ({
      argv: [at(`opencode-${platform}-${arch}/bin/opencode`), 'acp'],
      env: {
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_CONFIG_CONTENT: JSON.stringify({
          model: 'fake/fake-model',
          small_model: 'fake/fake-model',
          autoupdate: false,
          permission: { bash: 'ask' },
          provider: {
            fake: {
              npm: '@ai-sdk/openai-compatible',
              options: { baseURL: `${url}/v1`, apiKey: 'k' },
              models: { 'fake-model': { limit: { context: 100_000, output: 4000 } } },
            },
          },
        }),
      },
    }),
  },
  {
    name: 'codex-zed',
    packages: [`@zed-industries/codex-acp-${platform}-${arch}@0.16.0`],
    prepare: codexHome,
    command: (at) => ({
      argv: [at(`@zed-industries/codex-acp-${platform}-${arch}/bin/codex-acp`)],
      env: { FAKE_KEY: 'k' },
    }),
  },
  {
    name: 'codex',
    packages: ['@agentclientprotocol/codex-acp@2.6.0'],
    prepare: codexHome,
    command: (at) => ({
      argv: [process.execPath, at('@agentclientprotocol/codex-acp/dist/index.js')],
      env: { FAKE_KEY: 'k' },
    }),
  },
]

function codexHome(home, url) {
  mkdirSync(join(home, '.codex'), { recursive: true })
  const provider = `name = "fake"\nbase_url = "${url}/v1"\nenv_key = "FAKE_KEY"\nwire_api = "responses"\n`
  const head = 'model = "fake-model"\nmodel_provider = "fake"\n'
  writeFileSync(join(home, '.codex', 'config.toml'), `${head}\n[model_providers.fake]\n${provider}`)
}

/** The folder of an agent's packages; null, with one printed line, when they cannot be installed. */
async function install({ name, packages }) {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  const folder = join(cache, 'parley', 'acp', packages[0].replaceAll(/[^\w.-]+/g, '_'))
  const mark = join(folder, 'complete')
  if (existsSync(mark)) return folder
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  console.log(`installing ${packages.join(' ')} …`)
  try {
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder, ...packages]
    await promisify(execFile)('npm', args, { timeout: INSTALL_MS, cwd: folder, maxBuffer: 2 ** 24 })
  } catch (error) {
    const lines = String(error.stderr ?? error).split('\n')
    const reason = lines.find((line) => /npm error (?:code|4|5|E)/.test(line)) ?? lines.find((line) => line !== '')
    console.log(
      `${name}: not run, its package could not be installed (${(reason ?? 'no reason was given').trim().slice(0, 160)})`,
    )
    rmSync(folder, { recursive: true, force: true })
    return null
  }
  writeFileSync(mark, '')
  return folder
}

/** Arguments for the command tool of an agent, whatever its name. */
const SHELLS = {
  Bash: (command) => ({ command, description: 'makes a file' }),
  bash: (command) => ({ command, description: 'makes a file' }),
  run_shell_command: (command) => ({ command, description: 'makes a file' }),
  shell: (command) => ({ command: ['bash', '-lc', command] }),
  shell_command: (command) => ({ command }),
  local_shell: (command) => ({ command: ['bash', '-lc', command] }),
  exec_command: (command) => ({
    cmd: command,
    sandbox_permissions: 'require_escalated',
    justification: 'It writes a file.',
  }),
}

/** Requests with the agent's tools get a call of `command`, then a final message; other requests get one word. */
const modelFor =
  (command) =>
  ({ view }) => {
    const shell = Object.keys(SHELLS).find((name) => view.tools.includes(name))
    if (shell === undefined) return { text: 'a title' }
    if (view.assistantTurns > 0) return { text: 'The file is made.' }
    return { toolCalls: [{ name: shell, arguments: SHELLS[shell](command) }] }
  }

async function check(agent, packages) {
  const { startScriptedModel } = await import('../packages/server/testing/scripted-model.ts')
  const { startServerProcess } = await import('../packages/server/testing/server-process.ts')
  const folder = mkdtempSync(join(tmpdir(), 'parley-acp-'))
  const home = join(folder, 'home')
  const work = join(folder, 'work')
  mkdirSync(home)
  mkdirSync(work)
  try {
    await using parts = new AsyncDisposableStack()
    const model = parts.use(await startScriptedModel({ respond: modelFor('echo made > made.txt') }))
    const server = parts.use(await startServerProcess({ dataDir: join(folder, 'data') }))
    agent.prepare?.(home, model.url)
    const { argv, env } = agent.command((path) => join(packages, 'node_modules', path), home, model.url)
    const xdg = Object.fromEntries(
      ['CONFIG', 'DATA', 'STATE', 'CACHE'].map((kind) => [`XDG_${kind}_HOME`, join(home, kind)]),
    )
    const variables = Object.entries({ HOME: home, ...xdg, ...env }).map(([name, value]) => `${name}=${value}`)
    const { status, body } = await server.call('POST', '/api/conversations', {
      workspace: { working_dir: work },
      agent: { kind: 'ACPAgent', acp_command: ['/usr/bin/env', ...variables, ...argv] },
      confirmation_policy: { kind: 'AlwaysConfirm' },
      secrets: agent.secrets ?? {},
      autotitle: false,
      initial_message: { content: [{ type: 'text', text: 'Make the file made.txt with a command.' }], run: true },
    })
    if (status !== 201) return [`not started: ${status} ${JSON.stringify(body)}`]
    const asked = await toTheEnd(server, body.id)
    const { items } = (await server.call('GET', `/api/conversations/${body.id}/events/search?limit=100`)).body
    const of = (kind) => items.filter((event) => event.kind === kind)
    const faults = []
    const fault = (isOne, text) => isOne && faults.push(text)
    const failure = of('ConversationErrorEvent')[0]
    fault(failure !== undefined, `${failure?.code}: ${failure?.detail}`)
    fault(!of('ActionEvent').some(({ action }) => action?.kind === 'FinishAction'), 'the turn did not end')
    fault(of('ACPToolCallEvent').length < 2, `${of('ACPToolCallEvent').length} events of tool calls`)
    fault(asked === 0, 'the agent requested no permission')
    fault(!readdirSync(work).includes('made.txt'), 'the command had no effect')
    fault(model.requests.length === 0, 'the model was not asked')
    if (faults.length > 0) faults.push(...server.stderr().split('\n').slice(-8))
    const { agent_state: state } = (await server.call('GET', `/api/conversations/${body.id}`)).body
    const version = `${state.acp_agent_name} ${state.acp_agent_version}`
    if (faults.length === 0) console.log(`${agent.name}: passed (${version}, asked ${asked} times)`)
    return faults
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }
}

/** Approves every action until the turn is over; resolves to the number of approvals. */
async function toTheEnd(server, id) {
  const at = `/api/conversations/${id}`
  const until = performance.now() + TURN_MS
  let asked = 0
  for (;;) {
    const { execution_status: status } = (await server.call('GET', at)).body
    if (status === 'waiting_for_confirmation') {
      asked += 1
      await server.call('POST', `${at}/events/respond_to_confirmation`, { accept: true })
    } else if (['finished', 'error', 'stuck'].includes(status)) return asked
    if (performance.now() > until) return asked
    await sleep(100)
  }
}

const [part = ''] = process.argv.slice(2)
let passed = 0
let failed = 0
for (const agent of AGENTS.filter(({ name }) => name.includes(part))) {
  const packages = await install(agent)
  if (packages === null) continue
  const faults = await check(agent, packages).catch((error) => [String(error?.stack ?? error)])
  if (faults.length === 0) passed += 1
  else {
    failed += 1
    console.log(`${agent.name}: failed\n  ${faults.join('\n  ')}`)
  }
}
if (passed + failed === 0) {
  console.log('conformance:acp was not run: no agent could be installed')
  process.exitCode = NOT_RUN
} else {
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
}
