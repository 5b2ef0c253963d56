/** Operations whose part this server does not have, and the preparation for a pause. Source: agent-server-wire.md 1.2 and 1.13. */
import { type Cases, detail, invalid, TEXT, UNKNOWN } from './case.ts'

const subscription = '/api/llm/subscription/openai'
const notConnected = { vendor: 'openai', connected: false, account_email: null, expires_at: null }
const noAddress = { url: null, message: TEXT }
const binding = (id: string) => `/api/conversations/${id}/credential-bindings/KEY`

export const notAvailableCases: Cases = {
  'GET /api/vscode/status': [{ says: 'none', status: 200, shape: { running: false, enabled: false, message: TEXT } }],
  'GET /api/vscode/url': [{ says: 'none', status: 200, shape: noAddress }],
  'GET /api/desktop/url': [{ says: 'none', status: 200, shape: noAddress }],
  [`GET ${subscription}/models`]: [{ says: 'none', status: 200, shape: { vendor: 'openai', models: [] } }],
  [`GET ${subscription}/status`]: [{ says: 'none', status: 200, shape: notConnected }],
  [`POST ${subscription}/device/start`]: [{ says: 'not supported', status: 400, shape: detail() }],
  [`POST ${subscription}/device/poll`]: [
    { says: 'an unknown code', status: 404, shape: detail(), ask: () => ({ body: { device_code: 'x' } }) },
    { says: 'no code', status: 422, shape: invalid('body', 'device_code'), ask: () => ({ body: {} }) },
  ],
  [`POST ${subscription}/logout`]: [{ says: 'none', status: 200, shape: notConnected }],
  'GET /api/init': [{ says: 'not deferred', status: 404, shape: detail(), ask: () => ({ anonymous: true }) }],
  'POST /api/init': [
    { says: 'not deferred', status: 404, shape: detail(), ask: () => ({ body: {}, anonymous: true }) },
  ],
  'POST /api/conversations/prepare-for-sandbox-pause': [{ says: 'ready', status: 204, shape: null }],
  'PUT /api/conversations/{id}/credential-bindings/{secret_name}': [
    {
      says: 'not supported',
      status: 501,
      shape: detail(),
      ask: async (place) => ({
        path: binding((await place.idle()).id),
        body: { url: 'https://secrets.example/x', headers: {} },
      }),
    },
    {
      says: 'unknown id',
      status: 404,
      shape: detail('Not Found'),
      ask: () => ({ path: binding(UNKNOWN), body: { url: 'https://secrets.example/x' } }),
    },
    {
      says: 'an unknown member',
      status: 422,
      shape: invalid('body', 'more'),
      ask: () => ({ path: binding(UNKNOWN), body: { url: 'https://secrets.example/x', more: 1 } }),
    },
  ],
}
