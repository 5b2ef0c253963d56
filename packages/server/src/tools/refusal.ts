/** A call that cannot be executed as requested: the model gets the reason, and nothing changes. */
export class Refusal extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Refusal'
  }
}
