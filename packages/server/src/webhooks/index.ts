export { openWebhooks, type WebhookDeps } from './deliver.ts'
export type { WebhookTarget } from './target.ts'
