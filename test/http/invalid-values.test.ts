import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { nodesOf, literalText, readSource, sourceFiles } from '../source-files.ts'
import { NOT_REQUESTS, ROWS } from './invalid-values/rows.ts'
import { refusalSites } from './invalid-values/sites.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const isElsewhere = (file: string) => Object.keys(NOT_REQUESTS).some((path) => file.startsWith(path))

describe('the list of refused values is complete', () => {
  test('every refusal in the sources has a row, or is in a folder that requests do not reach', () => {
    const unlisted = refusalSites()
      .filter(({ file }) => !isElsewhere(file))
      .filter(({ file, text }) => ROWS.filter((row) => row.file === file && text.includes(row.text)).length === 0)
    expect(unlisted).toEqual([])
  })

  test('every row and every folder names a refusal in the sources', () => {
    const sites = refusalSites()
    const matches = (row: (typeof ROWS)[number]) =>
      sites.filter(({ file, text }) => row.file === file && text.includes(row.text)).length
    expect(ROWS.filter((row) => matches(row) !== 1).map(({ file, text }) => [file, text])).toEqual([])
    const paths = Object.keys(NOT_REQUESTS)
    expect(paths.filter((path) => !sites.some(({ file }) => file.startsWith(path)))).toEqual([])
  })

  test('the code of a 422 is given by one function', () => {
    const makers = sourceFiles('packages/*/src/**/*.ts')
      .filter((path) => !/\.(?:test|testing)\.ts$/.test(path))
      .filter((path) =>
        nodesOf(path, readSource(path)).some(
          ({ type, callee, arguments: given }) =>
            type === 'NewExpression' &&
            ((callee as { name?: string }).name === 'InvalidValue' ||
              ((callee as { name?: string }).name === 'ParleyError' &&
                literalText((given as unknown[])[0]) === 'invalid_input')),
        ),
      )
    expect(makers).toEqual(['packages/protocol/src/errors.ts'])
  })
})

const provoked = ROWS.flatMap((row) => ('send' in row ? [row] : []))

test.each(provoked.map((row) => [`${row.file}: ${row.text} (${row.loc.join('.')})`, row] as const))(
  'a refused value is a 422 with its place: %s',
  async (_, { send, loc, msg, type = 'value_error' }) => {
    const { status, body } = await send(server)
    expect({ status, body }).toMatchObject({ status: 422, body: { detail: [{ type, loc }] } })
    const [entry] = body.detail
    expect(Object.keys(entry).slice(0, 4)).toEqual(['type', 'loc', 'msg', 'input'])
    if (msg === undefined) return
    expect(entry).toMatchObject({ msg: expect.stringContaining(msg), ctx: { error: {} } })
    expect(entry.msg).toMatch(/^Value error, /)
  },
)
