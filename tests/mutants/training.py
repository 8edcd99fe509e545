"""Mutants of training: loss, schedule, the loop, averages, validation, states that are resumed, several processes, Ctrl-C."""

from . import Mutant

LOSS = "training/loss.py"
SCHEDULE = "training/schedule.py"
BATCHES = "training/batches.py"
LOOP = "training/loop.py"
RUN = "training/run.py"
PLACE = "training/place.py"
KEEPER = "training/keeper.py"
AVERAGING = "training/averaging.py"
VALIDATE = "training/validate.py"
SNAPSHOT = "training/snapshot.py"
STATE = "training/state.py"
INTERRUPT = "training/interrupt.py"

CLIP = '            length = nn.utils.clip_grad_norm_(run.weights, options.clip or float("inf"))\n'
UNSCALE = "            run.scaler.unscale_(run.optimizer)\n"
STEP = "            run.scaler.step(run.optimizer)\n"
ZERO = "            run.optimizer.zero_grad(set_to_none=True)\n"
FINITE = "            run.check_finite(total, length, tokens)\n"
RATE = (
    "            rate = warmup_rate(run.place.step + 1, d_model=run.d_model, warmup=options.warmup, factor=options.factor)\n"
    "            for group in run.optimizer.param_groups:\n"
    '                group["lr"] = rate\n'
)
UPDATE = "            run.scaler.update()\n"
LOOK = """            records.append(self._record())
            if place.is_better(records[-1].valid_loss):
                best_epoch = place.epoch
                self.keeper.keep_best()
"""

LOSSES = [
    Mutant("pads counted in the loss", LOSS, ".masked_fill(~real, 0.0).sum()", ".sum()", "the loss does not know what padding is",
           "harvardnlp/annotated-transformer#110"),
    Mutant("pads counted among the tokens", LOSS, "real, smoothing), real.sum()", "real, smoothing), torch.tensor(real.numel())",
           "the size of the batch is at hand"),
    Mutant("pads pull at the weights", LOSS, "gradient.mul_((real * grad)[..., None])", "gradient.mul_(grad)",
           "masked forward, forgotten backward"),
    Mutant("smoothing over V-1", LOSS, "every = log_p.mean(dim=-1)", "every = (log_p.sum(dim=-1) - right) / (log_p.shape[-1] - 1)",
           "the right word is left out, as in the first implementations"),
    Mutant("smoothing over V-1 in the gradient", LOSS, "ctx.smoothing / log_p.shape[-1]", "ctx.smoothing / (log_p.shape[-1] - 1)",
           "two formulas, one of them right"),
    Mutant("smoothing added on top", LOSS, "-((1 - smoothing) * right", "-(right", "the right word keeps all of its share"),
    Mutant("no smoothing in the gradient", LOSS, "ctx.smoothing = smoothing", "ctx.smoothing = 0.0", "autograd would have known"),
    Mutant("gradient of the loss not scaled", LOSS, "(real * grad)[..., None]", "real[..., None]", "right as long as nothing follows"),
    Mutant("half precision sums in half", LOSS, "if logits.dtype in (torch.float16, torch.bfloat16):", "if False:",
           "autocast raises some operations, not all"),
    Mutant("LR off by one", LOOP, "run.place.step + 1, d_model", "run.place.step + 2, d_model", "steps are counted from 0, rates from 1"),
    Mutant("LR of the step before", LOOP, "run.place.step + 1, d_model", "max(run.place.step, 1), d_model",
           "steps are counted from 0, rates from 1"),
    Mutant("warm-up never ends", SCHEDULE, "min(step**-0.5, step * warmup**-1.5)", "step * warmup**-1.5",
           "a minimum that nobody reaches"),
    Mutant("warm-up is a maximum", SCHEDULE, "min(step**-0.5", "max(step**-0.5", "a slip that trains for a while"),
    Mutant("rate grows with the width", SCHEDULE, "d_model**-0.5", "d_model**0.5", "a lost minus"),
    Mutant("step 0 has a rate", SCHEDULE, "check_positive(step=step, d_model", "step = max(step, 1)\n    check_positive(d_model",
           "the first step is 0 elsewhere"),
    Mutant("target not shifted", BATCHES, "tgt_in = pad_rows([(BOS, *example.tgt[:-1]) for", "tgt_in = pad_rows([example.tgt for",
           "the model copies what it is to predict", "jadore801120/attention-is-all-you-need-pytorch#41"),
]  # fmt: skip

LOOPS = [
    Mutant("gradient not zeroed", LOOP, ZERO, "", "torch adds to what is there"),
    Mutant("gradient zeroed after backward", LOOP, UNSCALE, f"{ZERO}{UNSCALE}", "the right line in the wrong place"),
    Mutant("gradient zeroed for every batch", LOOP, "                with run.half_precision():\n",
           f"    {ZERO}                with run.half_precision():\n", "accumulation forgets all but the last"),
    Mutant("mean of means", LOOP, "run.scaler.scale(loss * share)", "run.scaler.scale(loss / batch.tokens / len(batches))",
           "every batch counts the same, whatever its size", "huggingface/transformers#34191"),
    Mutant("sum instead of mean", LOOP, "run.processes.count / tokens", "run.processes.count",
           "Adam hides it until the gradient is clipped"),
    Mutant("padding in the mean", LOOP, "run.processes.count / tokens", "run.processes.count / sum(b.tgt_out.numel() for b in batches)",
           "the size of the batch is at hand"),
    Mutant("no clipping", LOOP, CLIP, '            length = nn.utils.clip_grad_norm_(run.weights, float("inf"))\n',
           "an option nobody reads"),
    Mutant("clip before unscale", LOOP, UNSCALE + CLIP, CLIP + UNSCALE, "scaled gradients are all too long", "pytorch/pytorch#37730"),
    Mutant("clip after step", LOOP, CLIP + FINITE + RATE + STEP,
           "            length = nn.utils.get_total_norm([w.grad for w in run.weights])\n" + FINITE + RATE + STEP + CLIP,
           "the right line in the wrong place"),
    Mutant("clipped by value", LOOP, CLIP, '            nn.utils.clip_grad_value_(run.weights, options.clip or float("inf"))\n'
           "            length = nn.utils.get_total_norm([w.grad for w in run.weights])\n", "two functions with one purpose"),
    Mutant("loss not looked at", LOOP, FINITE, "            run.loss, run.tokens = float(total), tokens\n",
           "one NaN, and every weight is one"),
    Mutant("looked at after the step", LOOP, FINITE + RATE + STEP + UPDATE, RATE + STEP + UPDATE + FINITE, "the loss is known late"),
    Mutant("one backward for the last batch only", LOOP, "                run.scaler.scale(loss * share).backward()\n",
           "                if batch is batches[-1]:\n                    run.scaler.scale(loss * share).backward()\n", "an indent"),
    Mutant("no smoothing while training", LOOP, "smoothing=options.smoothing", "smoothing=0.0", "an option nobody reads"),
    Mutant("gradient that is not finite taken", RUN, "too_long = not (", "too_long = False and not (", "the loss looks well"),
    Mutant("float16 overflow is an error", RUN, "self.scaler.is_enabled() or ", "", "the scaler tries too large a scale on purpose"),
    Mutant("half precision ignored", RUN, "half = HALF.get(self.options.precision)", "half = None", "an option nobody reads"),
    Mutant("trained in eval mode", RUN, "        self.model.train()\n", "        self.model.eval()\n", "dropout is off, and it overfits"),
    Mutant("epoch order not reseeded", RUN, "seed=options.seed, epoch=epoch", "seed=options.seed, epoch=1", "every epoch is the same"),
    Mutant("order without the seed", RUN, "seed=options.seed, epoch=epoch", "seed=0, epoch=epoch", "three seeds, one order"),
    Mutant("dropout without the seed", RUN, "torch.manual_seed(options.seed + processes.rank)",
           "torch.manual_seed(0 * options.seed + processes.rank)",
           "three seeds, one dropout"),
    Mutant("last incomplete group dropped", RUN, "range(0, len(batches), options.accumulate)]",
           "range(0, len(batches) - len(batches) % options.accumulate, options.accumulate)] or [batches]", "drop_last by habit"),
    Mutant("betas swapped for the default", RUN, "betas=options.betas, ", "", "Adam's own are .9 and .999"),
    Mutant("train loss is a mean of updates", RUN, "place.loss + self.loss, place.tokens + self.tokens",
           "place.loss + self.loss / self.tokens, place.tokens + 1", "mean of means in what is reported"),
    Mutant("caller's randomness lost", LOOP, "torch.random.fork_rng(", "torch.random.fork_rng(enabled=False, ", "seeds are global"),
]  # fmt: skip

CHOICES = [
    Mutant("dropout on in eval", VALIDATE, "    model.eval()\n", "", "validation in the middle of training"),
    Mutant("validation leaves eval mode on", VALIDATE, "    model.train(was_training)\n", "", "the next epoch trains without dropout"),
    Mutant("validation with smoothing", VALIDATE, "smoothing=0.0", "smoothing=0.1", "the loss of training is at hand"),
    Mutant("validation builds graphs", VALIDATE, "@torch.no_grad()\n", "", "memory, and time"),
    Mutant("validation loss is a mean of means", VALIDATE, "return total / sum(len(example.tgt) for example in examples)",
           "return total / len(batches) / max(len(example.tgt) for example in examples)", "batches are of different size"),
    Mutant("best weights not restored", KEEPER, "self.best or self.average.weights",
           "self.average.weights if self.average else copy_weights(self.model)",
           "early stopping stops late"),
    Mutant("best weights are a reference", AVERAGING,
           "{name: weight.detach().clone() for name, weight in model.named_parameters()}\n\n\n@torch",
           "{name: weight.detach() for name, weight in model.named_parameters()}\n\n\n@torch",
           "state_dict() shares memory; training goes on",
           "pytorch/pytorch#28340"),
    Mutant("best weights are the raw ones", KEEPER, "        with self.averaged():\n            self.best = copy_weights(self.model)\n",
           "        self.best = copy_weights(self.model)\n", "validated are the averaged ones"),
    Mutant("the worst is the best", PLACE, "loss < self.best_loss", "loss > self.best_loss", "accuracy would grow"),
    Mutant("patience never ends", PLACE, "self.epoch - 1 - self.best_epoch", "0", "a counter that is always reset"),
    Mutant("patience one epoch too long", PLACE, "self.epoch - 1 - self.best_epoch", "self.epoch - 2 - self.best_epoch", "off by one"),
    Mutant("an epoch too many", PLACE, "self.epoch > options.epochs", "self.epoch > options.epochs + 1", "off by one"),
    Mutant("a step too many", PLACE, "self.step >= options.steps", "self.step > options.steps", "off by one"),
    Mutant("model handed over in train mode", KEEPER, "        self.model.eval()\n", "", "the caller translates with dropout"),
    Mutant("EMA of the average", AVERAGING, "self.weights[name].lerp_(weight, new)", "self.weights[name].lerp_(self.weights[name], new)",
           "two things with one name"),
    Mutant("EMA the wrong way round", AVERAGING, "lerp_(weight, new)", "lerp_(weight, 1 - new)", "decay and its complement"),
    Mutant("EMA without its warm-up", AVERAGING, "min(self.decay, (1 + step) / (10 + step))", "self.decay",
           "random first weights stay in it"),
    Mutant("EMA not validated", RUN, "            with self.keeper.averaged():\n", "            if True:\n", "the model is at hand"),
    Mutant("EMA left in the model", AVERAGING, "            set_weights(self.model, own)\n", "            del own\n",
           "lent and never given back"),
]  # fmt: skip

RESUMES = [
    Mutant("optimizer state not restored", SNAPSHOT, '    optimizer.load_state_dict({"state": state,',
           '    optimizer.load_state_dict({"state": {},',
           "weights seem to be all there is"),
    Mutant("first moment not restored", SNAPSHOT, "m: moments[m][name] for m in MOMENTS}",
           'm: moments[m][name] * (m != "exp_avg") for m in MOMENTS}', "forgotten among three"),
    Mutant("Adam's step not restored", SNAPSHOT, "m: moments[m][name] for m in MOMENTS}",
           'm: moments[m][name] + (m == "step") for m in MOMENTS}',
           "the bias correction starts anew"),
    Mutant("RNG state not restored", SNAPSHOT, '    torch.set_rng_state(random[f"cpu.{rank}"])\n', "", "dropout is drawn anew"),
    Mutant("one RNG state for all processes", SNAPSHOT, 'random[f"cpu.{rank}"]', 'random["cpu.0"]', "the first one writes its own"),
    Mutant("average not restored", SNAPSHOT, "    if average:\n", "    if False:\n", "an extra that is easily forgotten"),
    Mutant("best weights not kept in the state", SNAPSHOT, '"best": best,', '"best": {},', "they live in memory only"),
    Mutant("scale not restored", SNAPSHOT, "    if saved.scaler:\n", "    if False:\n", "an extra that is easily forgotten"),
    Mutant("weights not restored", SNAPSHOT, "        own[name].copy_(tensor)", "        own[name] = tensor",
           "a dict is filled and thrown away"),
    Mutant("resumed epoch begins anew", RUN, "for group in groups[self.place.update :]", "for group in groups",
           "the place within the epoch is lost"),
    Mutant("resumed one update too early", RUN, "groups[self.place.update :]", "groups[max(self.place.update - 1, 0) :]", "off by one"),
    Mutant("best loss forgotten by a resume", KEEPER, "            place = saved.place\n",
           "            place = saved.place\n            place.best_loss = None\n", "the first epoch after a resume is always the best"),
    Mutant("resumed with other options", STATE, "if before != after:", 'if before != after and what != "options":', "who looks"),
    Mutant("resumed with other examples", STATE, 'if before != after:', 'if before != after and "examples" not in what:', "who looks"),
    Mutant("examples counted, not read", STATE, ").tobytes())", ").tobytes()[:0])", "the number is the same"),
    Mutant("digest blind to the border", STATE, "[len(example.src), len(example.tgt), *example.src, *example.tgt]",
           "sorted([*example.src, *example.tgt])", "ids are hashed as a set"),
    Mutant("an older training overwritten", KEEPER, "        elif path is not None and os.path.exists(path):\n", "        elif False:\n",
           "the flag to resume is forgotten once"),
    Mutant("an interrupt is not saved", RUN, "        self.keeper.save(place)\n        records,", "        records,",
           "the end of the epoch saves"),
    Mutant("long epochs are not saved", RUN, "        if due:\n", "        if False:\n", "the end of the epoch saves"),
    Mutant("a look in mid-epoch stays", RUN, LOOK, LOOK.replace("best_epoch = place", "best_epoch = place.best_epoch = place")
           + "            self.keeper._kept = None\n            self.keeper.save(place)\n", "the end seems to be the end"),
    Mutant("place of the step before", RUN, "place.step + 1, place.update + 1, self",
           "place.step + 1, place.update + (place.step > 0), self",
           "off by one"),
    Mutant("Ctrl-C breaks off", INTERRUPT, "            self.since = time.monotonic()\n", "            raise KeyboardInterrupt\n",
           "as Python does"),
    Mutant("Ctrl-C never breaks off", INTERRUPT, "            raise KeyboardInterrupt\n", "            pass\n", "a wish that hangs"),
    Mutant("an echo of Ctrl-C breaks off", INTERRUPT, "- self.since > SAME", "- self.since > -1",
           "torchrun passes the signal on once more"),
    Mutant("Ctrl-C stays ours", INTERRUPT, "        signal.signal(signal.SIGINT, before)\n", "        pass\n",
           "the program after the training"),
]  # fmt: skip

TOGETHER = [
    Mutant("DDP averaging not undone", LOOP, "run.processes.count / tokens", "1 / tokens", "gradients are averaged without being asked"),
    Mutant("every process trains on everything", RUN, "shard(group, processes.rank, processes.count)", "shard(group, 0, 1)",
           "right, and no faster"),
    Mutant("tokens of one process only", RUN, "tokens = sum(len(examples[i].tgt) for batch in group for i in batch)",
           "tokens = processes.count * max(1, sum(len(examples[i].tgt) for batch in group for i in batch[processes.rank :: 2]))",
           "a mean of means over processes"),
    Mutant("loss of one process only", RUN, "self.processes.total([total.item()], self.device)", "[total.item()]",
           "what the first one prints"),
    Mutant("validation of one process only", VALIDATE, "(total,) = processes.total([mine], device)", "total = mine",
           "processes disagree on the best"),
    Mutant("every process prints", LOOP, "Progress(progress and processes.first", "Progress(progress", "a hundred bars"),
    Mutant("all processes drop the same", RUN, "options.seed + processes.rank)", "options.seed)", "one seed for all"),
]  # fmt: skip

TRAINING = [*LOSSES, *LOOPS, *CHOICES, *RESUMES, *TOGETHER]
