export { storeConfigured } from './configured.ts'
export { openWebhooks, type Webhooks } from './deliver.ts'
export { readTarget, storedTarget } from './stored-target.ts'
export type { WebhookTarget } from './target.ts'
