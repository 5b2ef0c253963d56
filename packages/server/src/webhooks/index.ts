export { openWebhooks } from './deliver.ts'
export type { WebhookTarget } from './target.ts'
