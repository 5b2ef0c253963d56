import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { excused } from '../../packages/server/testing/canaries/watch.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { verifies } from '../verifies.ts'
import { bytesOf, serve, storeOf, type Loose, type Serving } from '../../packages/server/testing/multi-user-server.ts'

let dir: TempDir
let serving: Serving
beforeAll(async () => {
  dir = await tempDir()
  serving = await serve(dir.file('data'))
})
afterAll(async () => {
  await serving[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

const PATH = '/api/secrets'
type Key = { key?: string }
const create = (name: string, value: unknown, description = 'd', as: Key = {}) =>
  serving.call('POST', PATH, { name, value, description }, as)
const update = (id: string, body: unknown, as: Key = {}) => serving.call('PUT', `${PATH}/${id}`, body, as)
/** The only route that returns a value. */
const valueOf = (name: string, as: Key = {}, of: Serving = serving) =>
  excused('clear text', () => of.call('GET', `/api/settings/secrets/${name}`, undefined, as))
const secret = (what: string) => `${canary('user_secret_2')}-value-${what}-77`
const names = async (as: Key = {}): Promise<string[]> =>
  (await serving.call('GET', PATH, undefined, as)).json.custom_secrets.map(({ name }: Loose) => name)

test('a conversation of a user with a secret of 64 kB starts, and the server stays responsive', async () => {
  const as = { key: serving.keys.bob }
  expect((await create('LONG', `{"a":${'1'.repeat(64)}}`.repeat(900), 'long', as)).status).toBe(201)
  const made = await serving.call('POST', '/api/conversations', { initial_user_msg: 'hello' }, as)
  expect(made.status).toBe(200)
  const path = `/api/conversations/${made.json.conversation_id}`
  await until(async () => !/STARTING/.test((await serving.call('GET', path, undefined, as)).text))
  expect((await serving.call('GET', '/ready')).status).toBe(200)
  expect(serving.server.stderr()).not.toContain('Regular expression')
  expect((await serving.call('DELETE', `${PATH}/LONG`, undefined, as)).status).toBe(200)
})

describe('Create Custom Secret', () => {
  verifies(
    [
      'seed.auth.secret-create',
      'seed.endpoint.secret-create.auth',
      'seed.endpoint.secret-create.route',
      'seed.endpoint.secret-create.ok',
      'seed.endpoint.secret-create.body',
      'seed.secret.create.name',
      'seed.secret.create.value',
      'seed.secret.create.description',
      'design.secret.create.201',
    ],
    'takes its key from the header, and answers 201 with an object',
    async () => {
      expect((await serving.call('POST', PATH, {}, { key: null })).status).toBe(401)
      expect((await create('NEVER', 'v', 'd', { key: serving.keys.reader })).status).toBe(403)
      const { status, json } = await create('FIRST', secret('first'), 'the first one')
      expect([status, json]).toEqual([201, { message: 'Secret created successfully' }])
      expect((await serving.call('GET', PATH)).json).toEqual({
        custom_secrets: [{ name: 'FIRST', description: 'the first one' }],
      })
    },
  )

  verifies('design.secret.create.409', 'a secret with a taken name is refused with 409, which names PUT', async () => {
    const { status, json } = await create('FIRST', secret('other'))
    expect(status).toBe(409)
    expect(json.detail).toMatch(/PUT \/api\/secrets\/FIRST/)
    expect((await valueOf('FIRST')).text).toBe(secret('first'))
  })

  verifies(
    ['design.secret.name.pattern', 'design.secret.name.length'],
    'a secret name has up to 255 letters, digits and underscores, no leading digit, and is no system variable',
    async () => {
      for (const name of ['_', 'my_TOKEN_2', 'x'.repeat(255)]) expect((await create(name, 'v')).status, name).toBe(201)
      for (const name of [
        '',
        '2A',
        'A-B',
        'A B',
        'Ä',
        'A\n',
        '$(id)',
        'a/b',
        'x'.repeat(256),
        'PATH',
        'LD_PRELOAD',
        'PARLEY_X',
      ]) {
        const { status, json } = await create(name, secret('bad'))
        expect(status, name).toBe(422)
        expect(json.detail[0].loc).toEqual(['body', 'name'])
        expect(JSON.stringify(json)).not.toContain(secret('bad'))
      }
    },
  )

  test.each([
    ['nothing', ''],
    ['a common word', 'true'],
    ['what a shell would expand', '$HOME `id` $(id) \\ "q" \'q\' !!'],
    ['several lines', '-----BEGIN KEY-----\nabc\r\n\tdef\n'],
    ['other scripts', 'пароль 密码 🔑'],
    ['64 KiB', 'x'.repeat(64 * 1024)],
  ])('the value of a secret may be %s', async (_, value) => {
    const name = `VALUE_${createHash('sha256').update(value).digest('hex').slice(0, 8)}`
    expect((await create(name, value)).status).toBe(201)
    const answer = await valueOf(name)
    expect([answer.headers.get('content-type'), answer.text]).toEqual(['text/plain; charset=utf-8', value])
  })

  test('a secret whose value cannot be masked is stored with a warning', async () => {
    expect((await create('SHORT', 'abc')).json.warning).toMatch(/cannot be hidden/)
    expect((await create('LONG_ENOUGH', 'abcdefgh')).json.warning).toBeUndefined()
  })

  verifies(
    ['seed.endpoint.secret-create.invalid', 'seed.errors.declared-secret-create', 'design.errors.422.masked'],
    'an invalid secret is refused with 422 in the documented format, without the value',
    async () => {
      const { status, json } = await serving.call('POST', PATH, { value: secret('alone') })
      expect([status, json.detail]).toEqual([
        422,
        [{ type: 'missing', loc: ['body', 'name'], msg: 'Field required', input: { value: '**********' } }],
      ])
      const types = async (body: unknown) =>
        (await serving.call('POST', PATH, body)).json.detail.map(({ type, loc }: Loose) => [type, ...loc].join(' '))
      expect(await types({})).toEqual(['missing body name', 'missing body value'])
      expect(await types({ name: 'N', value: 5 })).toEqual(['string_type body value'])
      expect(await types({ name: 'N', value: 'x'.repeat(64 * 1024 + 1) })).toEqual(['value_error body value'])
      expect(await types({ name: 'N', value: 'a\0b' })).toEqual(['value_error body value'])
    },
  )
})

describe('Update Custom Secret', () => {
  verifies(
    [
      'seed.auth.secret-update',
      'seed.endpoint.secret-update.auth',
      'seed.endpoint.secret-update.route',
      'seed.endpoint.secret-update.path',
      'seed.endpoint.secret-update.body',
      'seed.endpoint.secret-update.ok',
      'seed.secret.update.name',
      'seed.secret.update.description',
      'design.secret.update.200',
      'design.secret.update.id-is-name',
      'design.secret.update.rename',
    ],
    'renames and describes the secret of that name, and keeps its value',
    async () => {
      await create('OLD_NAME', secret('kept'))
      expect((await serving.call('PUT', `${PATH}/OLD_NAME`, { name: 'X' }, { key: null })).status).toBe(401)
      const { status, json } = await update('OLD_NAME', { name: 'NEW_NAME', description: 'renamed' })
      expect([status, json]).toEqual([200, { message: 'Secret updated successfully' }])
      expect((await valueOf('NEW_NAME')).text).toBe(secret('kept'))
      expect((await valueOf('OLD_NAME')).status).toBe(404)
      await update('NEW_NAME', { name: 'NEW_NAME', description: null })
      expect((await serving.call('GET', PATH)).json.custom_secrets).toContainEqual({
        name: 'NEW_NAME',
        description: null,
      })
    },
  )

  verifies('design.secret.update.404', 'an unknown secret is answered with 404, in the form of each API', async () => {
    const { status, json } = await update('NOBODY', { name: 'NOBODY' })
    expect(status).toBe(404)
    expect(json).toEqual({ detail: 'Secret with ID NOBODY not found', error: 'Secret with ID NOBODY not found' })
  })

  test('a secret name that differs from another only in case is refused with 409 by both APIs, naming the other', async () => {
    const refused = async (answer: Promise<{ status: number; text: string }>) => {
      const { status, text } = await answer
      expect([status, text]).toEqual([409, expect.stringContaining('FIRST')])
    }
    await refused(create('First', 'v'))
    await refused(update('NEW_NAME', { name: 'first' }))
    await refused(serving.call('PUT', '/api/settings/secrets', { name: 'first', value: 'v' }))
    const settings = (custom_secrets: object) =>
      serving.call('POST', '/api/settings', { language: 'eo', secrets_store: { custom_secrets } })
    await refused(settings({ first: { secret: 'v' } }))
    const both = await settings({ TWO_OF_IT: { secret: 'v' }, two_of_it: { secret: 'w' } })
    expect([both.status, both.text]).toEqual([409, expect.stringContaining('TWO_OF_IT')])
    expect((await serving.call('GET', '/api/settings')).json.language).not.toBe('eo')
    // The secret's own name in another case is a valid new name.
    expect((await update('NEW_NAME', { name: 'New_Name' })).status).toBe(200)
    expect((await update('New_Name', { name: 'NEW_NAME' })).status).toBe(200)
    expect((await valueOf('FIRST')).text).toBe(secret('first'))
  })

  test('an update to the name of another secret is refused with 409', async () => {
    expect((await update('NEW_NAME', { name: 'FIRST' })).status).toBe(409)
    expect((await valueOf('FIRST')).text).toBe(secret('first'))
  })

  verifies(
    [
      'seed.endpoint.secret-update.no-value',
      'seed.secret.update.no-value',
      'seed.endpoint.secret-update.invalid',
      'seed.errors.declared-secret-update',
      'design.secret.update.value-422',
    ],
    'a value cannot be sent, and the refusal does not repeat it',
    async () => {
      const { status, json } = await update('FIRST', { name: 'FIRST', value: secret('sneaked') })
      expect([status, json.detail]).toEqual([
        422,
        [
          {
            type: 'extra_forbidden',
            loc: ['body', 'value'],
            msg: 'Extra inputs are not permitted',
            input: '**********',
          },
        ],
      ])
      expect((await update('FIRST', {})).json.detail).toMatchObject([{ type: 'missing', loc: ['body', 'name'] }])
      expect((await valueOf('FIRST')).text).toBe(secret('first'))
    },
  )
})

describe('reading and deleting', () => {
  verifies(
    ['seed.service.secrets-per-user', 'design.secret.read.hidden'],
    'a user sees, reads, changes and deletes only their own secrets',
    async () => {
      const [ann, bob] = [{ key: serving.keys.ann }, { key: serving.keys.bob }]
      await create('SHARED_NAME', secret('of-ann'), 'hers', ann)
      await create('SHARED_NAME', secret('of-bob'), 'his', bob)
      await create('ONLY_ANN', secret('only-ann'), 'hers', ann)
      expect(await names(bob)).toEqual(['SHARED_NAME'])
      expect((await valueOf('SHARED_NAME', ann)).text).toBe(secret('of-ann'))
      expect((await valueOf('SHARED_NAME', bob)).text).toBe(secret('of-bob'))
      expect((await valueOf('ONLY_ANN', bob)).status).toBe(404)
      expect((await valueOf('SHARED_NAME', { key: serving.keys.reader })).status).toBe(403)
      expect((await update('ONLY_ANN', { name: 'MINE' }, bob)).status).toBe(404)
      expect((await serving.call('DELETE', `${PATH}/ONLY_ANN`, undefined, bob)).status).toBe(404)
      const deleted = await serving.call('DELETE', `${PATH}/ONLY_ANN`, undefined, ann)
      expect([deleted.status, deleted.json]).toEqual([200, { message: 'Secret deleted successfully' }])
      expect(await names(ann)).toEqual(['SHARED_NAME'])
    },
  )

  test('both APIs share the same secrets', async () => {
    const put = (body: unknown) => serving.call('PUT', '/api/settings/secrets', body)
    expect((await put({ name: 'wire_one', value: secret('wire'), description: 'from there' })).json).toEqual({
      name: 'wire_one',
      description: 'from there',
    })
    expect((await put({ name: 'wire_one', value: secret('again') })).json.description).toBe('from there')
    expect(await names()).toContain('wire_one')
    expect((await valueOf('wire_one')).text).toBe(secret('again'))
    expect((await serving.call('GET', '/api/settings/secrets')).json.secrets).toContainEqual({
      name: 'wire_one',
      description: 'from there',
    })
    for (const name of ['_x', 'a-b', 'x'.repeat(65), 'PATH']) {
      const { status, json } = await put({ name, value: 'v' })
      expect([status, json.detail[0].loc]).toEqual([422, ['body', 'name']])
    }
    expect((await serving.call('DELETE', '/api/settings/secrets/wire_one')).json).toEqual({ deleted: true })
    expect((await serving.call('DELETE', '/api/settings/secrets/wire_one')).status).toBe(404)
    expect((await valueOf('a-b')).status).toBe(422)
  })

  test('of a hundred concurrent creations of one secret one succeeds, and no secret is lost', async () => {
    const made = await Promise.all(Array.from({ length: 50 }, (_, n) => create('RACE', `value-race-${n}-77`)))
    expect(made.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(made.filter(({ status }) => status === 409)).toHaveLength(49)
    await Promise.all(Array.from({ length: 50 }, (_, n) => create(`MANY_${n}`, `value-many-${n}-77`)))
    expect((await names()).filter((name) => name.startsWith('MANY_'))).toHaveLength(50)
  })

  test('secret values are encrypted on disk, in no log, and present after a kill', async () => {
    const text = (await bytesOf(dir.file('data'))) + (await storeOf(dir.file('data'))) + serving.server.stderr()
    expect(text).not.toMatch(/value-[a-z-]+\d*-?77/)
    expect(text).toContain('MANY_7')

    await using place = await tempDir()
    {
      await using first = await serve(place.file('data'))
      await first.call('POST', PATH, { name: 'STAYS', value: secret('stays') })
      await first.server.kill()
    }
    await using second = await serve(place.file('data'))
    expect((await valueOf('STAYS', {}, second)).text).toBe(secret('stays'))
  })
})
