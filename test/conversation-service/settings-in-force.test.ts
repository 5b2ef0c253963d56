import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { scan } from '../../packages/server/testing/canaries/scan.ts'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import {
  asksForSummary,
  startScriptedModel,
  type ScriptedAnswer,
} from '../../packages/server/testing/scripted-model.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { verifies } from '../verifies.ts'
import { bytesOf, serve, storeOf, type Loose, type Serving } from '../../packages/server/testing/multi-user-server.ts'

const run = (command: string): ScriptedAnswer => ({ toolCalls: [{ name: 'terminal', arguments: { command } }] })
const finish: ScriptedAnswer = { toolCalls: [{ name: 'finish', arguments: { message: 'done' } }] }
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** A conversation of the conversation service API after its run. */
async function talk({ call }: Serving, key: string, body: object = { initial_user_msg: 'go' }): Promise<Loose> {
  const { json } = await call('POST', '/api/conversations', body, { key })
  const path = `/api/conversations/${json.conversation_id}`
  let info: Loose
  await until(async () => {
    info = (await call('GET', path, undefined, { key })).json
    return !['idle', 'running'].includes(info.execution_status)
  })
  return info
}

async function eventsOf({ call }: Serving, id: string, key: string): Promise<Loose[]> {
  return (await call('GET', `/api/conversations/${id}/events/search?limit=100`, undefined, { key })).json.items
}

const outputs = (events: Loose[]): string[] =>
  events
    .filter(({ kind, tool_name }) => kind === 'ObservationEvent' && tool_name === 'terminal')
    .map(({ observation }) => observation.content[0]?.text ?? '')

verifies(
  ['seed.secret-registry.injects', 'seed.secret-registry.injects-only-named', 'seed.secret-registry.tracks'],
  'a command that names a secret gets it, also one created after the start, and its value is masked in stored and sent data',
  async () => {
    const value = canary('user_secret')
    await using dir = await tempDir()
    await using serving = await serve(dir.file('data'))
    const { ann, bob } = serving.keys
    const secret = (name: string, text: string, key: string) =>
      serving.call('POST', '/api/secrets', { name, value: text }, { key })
    await using model = await startScriptedModel({
      // Matched by turn, because the request for a title may arrive at any time.
      respond: async ({ view: { assistantTurns: index } }) => {
        if (index === 1) await secret('MADE_LATER', canary('user_secret_2'), ann)
        if (index === 5) await serving.call('DELETE', '/api/secrets/DEPLOY_TOKEN', undefined, { key: ann })
        const steps = [
          run('printf %s "$DEPLOY_TOKEN" | sha256sum; echo "it is $DEPLOY_TOKEN"; printf %s "$DEPLOY_TOKEN" > kept'),
          run('echo "later: ${#MADE_LATER} $MADE_LATER"'),
          run('env | grep -c DEPLOY; env | grep -c LATER; echo X_DEPLOY_TOKEN_X'),
          run('echo "[$BOB_ONLY]"; echo "$GIT_AUTHOR_NAME <$GIT_COMMITTER_EMAIL>"'),
          run('cat kept; base64 -w0 kept'),
          run('echo "gone: [$DEPLOY_TOKEN]"; cat kept'),
        ]
        return steps[index] ?? finish
      },
    })
    await secret('DEPLOY_TOKEN', value, ann)
    await secret('BOB_ONLY', canary('profile_key'), bob)
    await serving.call(
      'POST',
      '/api/settings',
      {
        llm_model: 'openai/scripted',
        llm_base_url: `${model.url}/v1`,
        llm_api_key: canary('llm_key'),
        git_user_name: 'Ann Other',
        git_user_email: 'ann@b.example',
      },
      { key: ann },
    )

    const info = await talk(serving, ann)
    expect(info.execution_status).toBe('finished')
    const events = await eventsOf(serving, info.id, ann)
    const [first, later, unnamed, others, kept, gone] = outputs(events)
    expect(first).toContain(sha256(value))
    expect(first).toContain('it is <secret-hidden>')
    expect(later).toContain(`later: ${canary('user_secret_2').length} <secret-hidden>`)
    expect(unnamed).toMatch(/^0\s+0\s+X_DEPLOY_TOKEN_X/)
    expect(others).toMatch(/^\[\]\s+Ann Other <ann@b\.example>/)
    expect(kept).toMatch(/^<secret-hidden>\s*<secret-hidden>/)
    expect(gone).toMatch(/gone: \[\]\s+<secret-hidden>/)

    const system = events.find(({ kind }) => kind === 'SystemPromptEvent')
    expect(JSON.stringify(system.dynamic_context)).toContain('$DEPLOY_TOKEN')
    expect(JSON.stringify(system.dynamic_context)).not.toContain('BOB_ONLY')
    const everywhere = [
      JSON.stringify(events),
      ...model.requests.map(({ text }) => text),
      serving.server.stderr(),
      await bytesOf(dir.file('data', 'conversations')).catch(() => ''),
      await storeOf(dir.file('data')),
    ]
    for (const text of everywhere) expect(scan(text)).toEqual([])
    expect(model.requests[0]!.headers['authorization']).toBe(`Bearer ${canary('llm_key')}`)
    await serving.call('DELETE', `/api/conversations/${info.id}`, undefined, { key: ann })
  },
  60_000,
)

test('a conversation starts with limits, confirmation, analyzer, condenser and servers from the settings of its user', async () => {
  await using dir = await tempDir()
  await using model = await startScriptedModel({ respond: () => run('echo never asked for') })
  await using serving = await serve(dir.file('data'), {
    PARLEY_LLM_MODEL: 'openai/of-the-server',
    PARLEY_LLM_BASE_URL: `${model.url}/v1`,
    PARLEY_LLM_API_KEY: canary('llm_key'),
  })
  const { ann, bob } = serving.keys
  const settings = {
    llm_model: 'openai/of-ann',
    max_iterations: 3,
    max_budget_per_task: 1.5,
    confirmation_mode: true,
    mcp_config: { sse_servers: [{ url: 'https://tools.example/sse', api_key: canary('mcp_header') }] },
  }
  expect((await serving.call('POST', '/api/settings', settings, { key: ann })).status).toBe(200)
  const prices = { llm: { input_cost_per_token: 0, output_cost_per_token: 0 } }
  await serving.call('PATCH', '/api/settings', { agent_settings_diff: prices }, { key: ann })

  const hers = await talk(serving, ann)
  expect(hers).toMatchObject({
    execution_status: 'waiting_for_confirmation',
    confirmation_policy: { kind: 'AlwaysConfirm' },
    max_iterations: 3,
    agent: {
      llm: { model: 'openai/of-ann' },
      condenser: {
        kind: 'LLMSummarizingCondenser',
        max_size: 240,
        llm: { model: 'openai/of-ann', usage_id: 'condenser' },
      },
      mcp_config: { 'tools-example': { url: 'https://tools.example/sse', transport: 'sse' } },
    },
  })
  expect(model.requests.at(-1)).toMatchObject({
    body: { model: 'of-ann' },
    headers: { authorization: `Bearer ${canary('llm_key')}` },
  })

  await serving.call(
    'POST',
    '/api/settings',
    { enable_default_condenser: false, security_analyzer: 'llm' },
    { key: ann },
  )
  const later = await talk(serving, ann)
  expect(later).toMatchObject({
    agent: { condenser: null },
    confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH' },
    security_analyzer: { kind: 'LLMSecurityAnalyzer' },
  })
  const his = (await serving.call('POST', '/api/conversations', {}, { key: bob })).json.conversation_id
  const { json } = await serving.call('GET', `/api/conversations/${his}`, undefined, { key: bob })
  expect(json).toMatchObject({
    agent: { llm: { model: 'openai/of-the-server' }, mcp_config: {} },
    confirmation_policy: { kind: 'NeverConfirm' },
    security_analyzer: null,
    max_iterations: 500,
  })
}, 60_000)

test("the condenser of a conversation from a user's settings asks over the prefix of its agent", async () => {
  await using dir = await tempDir()
  await using model = await startScriptedModel({
    respond: ({ view }) => ({ text: asksForSummary(view) ? 'It began with a greeting.' : 'hello' }),
  })
  await using serving = await serve(dir.file('data'), {
    PARLEY_LLM_MODEL: 'openai/of-the-server',
    PARLEY_LLM_BASE_URL: `${model.url}/v1`,
    PARLEY_LLM_API_KEY: canary('llm_key'),
  })
  const { ann } = serving.keys
  const { id } = await talk(serving, ann)
  const { status } = await serving.call('POST', `/api/conversations/${id}/condense`, undefined, { key: ann })
  expect(status).toBe(200)
  const [first] = model.requests.filter(({ view }) => view.lastUserText.includes('go') && view.tools.length > 0)
  const summaries = model.requests.filter(({ view }) => asksForSummary(view))
  expect(summaries).toHaveLength(1)
  expect(first).toBeDefined()
  expect(summaries[0]!.body['tools']).toEqual(first!.body['tools'])
}, 60_000)

test("the server's key is never sent to an address that a user set", async () => {
  await using dir = await tempDir()
  await using mine = await startScriptedModel({ respond: () => ({ text: 'hello' }) })
  await using serving = await serve(dir.file('data'), {
    PARLEY_LLM_MODEL: 'openai/of-the-server',
    PARLEY_LLM_API_KEY: canary('llm_key'),
  })
  await serving.call('POST', '/api/settings', { llm_base_url: `${mine.url}/v1` }, { key: serving.keys.ann })
  await talk(serving, serving.keys.ann)
  expect(mine.requests.length).toBeGreaterThan(0)
  for (const { headers } of mine.requests) expect(JSON.stringify(headers)).not.toContain(canary('llm_key'))
}, 60_000)
