import { expect, test } from 'vitest'
import { sentenceOf } from './errors.ts'

test('a refusal is a sentence: that of the server, the failed members of the request, or the status', () => {
  expect(sentenceOf(409, 'the name is taken')).toBe('the name is taken')
  const failures = [
    { loc: ['body', 'workspace', 'working_dir'], msg: 'Field required' },
    { loc: ['body', 'name'], msg: 'Value error, name is taken. Choose another one.' },
    { loc: ['body'], msg: 'Input should be an object' },
  ]
  expect(sentenceOf(422, failures)).toBe(
    'workspace.working_dir: Field required; name is taken. Choose another one.; Input should be an object',
  )
  expect(sentenceOf(502, { html: true })).toBe('The server answered with status 502.')
})
