"""Uses of TensorBoard's SummaryWriter in training scripts, as small pieces of code.

A piece finds `SummaryWriter`, a `writer` into `tmp`, a folder, and `np`; see conformance_wandb.
"""

from conformance_pieces import Piece, dropped, kept

PIECES: dict[str, list[Piece]] = {
    "The writer": [
        kept("SummaryWriter()", "import os\nos.chdir(tmp)\nSummaryWriter().close()", "num_runs == 1", begins=True),
        kept("SummaryWriter('runs/name')", "SummaryWriter(str(tmp / 'runs' / 'name')).close()", "manifest['name'] == 'name'", begins=True),
        kept("SummaryWriter(log_dir=Path)", "SummaryWriter(log_dir=tmp / 'p').close()", "manifest['name'] == 'p'", begins=True),
        kept("comment", "import os\nos.chdir(tmp)\nSummaryWriter(comment='_lr').close()", "manifest['name'].endswith('_lr')", begins=True),
        dropped("flush_secs, max_queue, filename_suffix", "SummaryWriter(str(tmp), flush_secs=5, max_queue=1, filename_suffix='.x').close()", begins=True, silent=True),
        dropped("purge_step", "SummaryWriter(str(tmp), purge_step=10).close()", begins=True, silent=True),
        kept("as a context manager", "with SummaryWriter(str(tmp)) as w:\n    w.add_scalar('a', 1, 1)", "metrics['a'] == 1", begins=True),
        dropped("logdir, of older versions", "SummaryWriter(logdir=str(tmp / 'old')).close()", begins=True, silent=True, real=False),
        kept("log_dir, get_logdir()", "import os\nassert writer.get_logdir() == str(writer.log_dir)\nassert os.path.isdir(writer.get_logdir())", "not os.path.exists(writer.get_logdir())"),
        dropped("_get_file_writer()", "writer._get_file_writer().flush()", silent=True),
        kept("file_writer.add_summary", "from tensorboard.compat.proto.summary_pb2 import Summary\nwriter.file_writer.add_summary(Summary(value=[Summary.Value(tag='a', simple_value=2.0)]), 3)", "metrics['a'] == 2 and status.env_steps == 3"),
        kept("_get_file_writer().add_event", "from tensorboard.compat.proto.event_pb2 import Event\nfrom tensorboard.compat.proto.summary_pb2 import Summary\nwriter._get_file_writer().add_event(Event(step=4, summary=Summary(value=[Summary.Value(tag='a', simple_value=2.0)])))", "metrics['a'] == 2 and status.env_steps == 4"),
        kept("flush and close", "writer.add_scalar('a', 1, 1)\nwriter.flush()\nwriter.close()", "status.state == 'finished'"),
        kept("close twice", "writer.close()\nwriter.close()", "status.state == 'finished'"),
    ],
    "Scalars and texts": [
        kept("add_scalar", "writer.add_scalar('loss/train', 0.5, 7)", "metrics['loss/train'] == 0.5 and status.env_steps == 7"),
        kept("add_scalar(global_step=...)", "writer.add_scalar('a', 0.5, global_step=3)", "status.env_steps == 3"),
        kept("add_scalar without a step", "writer.add_scalar('a', 0.5)", "metrics['a'] == 0.5"),
        kept("a tensor", "import torch\nwriter.add_scalar('a', torch.tensor(0.5), 1)", "metrics['a'] == 0.5"),
        kept("numbers of numpy", "writer.add_scalar('a', np.float32(0.5), np.int64(1))", "metrics['a'] == 0.5"),
        kept("an array of one element", "writer.add_scalar('a', np.array([0.5]), 1)", "metrics['a'] == 0.5"),
        dropped("walltime, new_style, double_precision", "writer.add_scalar('a', 0.5, 1, walltime=1e9, new_style=True, double_precision=True)", silent=True),
        kept("NaN", "writer.add_scalar('a', float('nan'), 1)", "any('nan' in event for event in events)"),
        kept("add_scalars", "writer.add_scalars('acc', {'train': 1.0, 'test': 0.5}, 2)", "metrics['acc/test'] == 0.5"),
        kept("many steps", "for i in range(20):\n    writer.add_scalar('a', i, i)", "metrics['a'] == 19"),
        kept("add_text", "writer.add_text('note', 'hello', 1)", "'note: hello' in events"),
        kept("add_text of several lines", "writer.add_text('hyperparameters', '|a|b|\\n|-|-|\\n|1|2|')", "files == ['texts/hyperparameters-00000000.md']"),
        kept("add_hparams", "writer.add_hparams({'lr': 0.1, 'net': 'mlp', 'flag': True}, {'hparam/acc': 0.5})", "config['lr'] == 0.1 and metrics['hparam/acc'] == 0.5"),
        kept("add_hparams(run_name=...)", "writer.add_hparams({'lr': 0.1}, {'hparam/acc': 0.5}, run_name='.')", "config['lr'] == 0.1"),
        kept("add_hparams(hparam_domain_discrete=...)", "writer.add_hparams({'lr': 0.1}, {'m': 1}, hparam_domain_discrete={'lr': [0.1, 0.2]})", "config['lr'] == 0.1"),
    ],
    "Distributions": [
        kept("add_histogram of an array", "writer.add_histogram('w', np.arange(101), 1)", "metrics['w/p50'] == 50"),
        kept("add_histogram of a tensor", "import torch\nwriter.add_histogram('w', torch.arange(101.0), 1, bins='auto')", "metrics['w/p50'] == 50"),
        kept("add_histogram of parameters", "import torch\nfor name, p in torch.nn.Linear(2, 2).named_parameters():\n    writer.add_histogram(name, p, 1)", "'weight/p50' in metrics"),
        kept("add_histogram of a list", "writer.add_histogram('w', [1.0, 2.0, 3.0], 1)", "metrics['w/p50'] == 2", real=False),
        kept("add_histogram_raw", "writer.add_histogram_raw('w', min=0, max=10, num=10, sum=50, sum_squares=300, bucket_limits=[5, 10], bucket_counts=[5, 5], global_step=1)", "metrics['w/p50'] == 5"),
        kept("add_tensor", "import torch\nwriter.add_tensor('t', torch.tensor([1.0, 2.0, 3.0]), 1)", "metrics['t/p50'] == 2"),
        dropped("add_pr_curve", "writer.add_pr_curve('pr', np.array([0, 1, 1]), np.array([0.1, 0.6, 0.9]), 1)"),
        dropped("add_custom_scalars", "writer.add_custom_scalars({'loss': {'both': ['Multiline', ['a', 'b']]}})"),
    ],
    "Pictures and the like": [
        kept("add_image CHW", "writer.add_image('i', np.zeros((3, 8, 9)), 1)", "files == ['images/i-00000001.png']"),
        kept("add_image HWC", "writer.add_image('i', np.zeros((8, 9, 3)), 1, dataformats='HWC')", "files == ['images/i-00000001.png']"),
        kept("add_image HW", "writer.add_image('i', np.zeros((8, 9)), 1, dataformats='HW')", "files == ['images/i-00000001.png']"),
        kept("add_image of a tensor", "import torch\nwriter.add_image('i', torch.zeros(3, 8, 8), 1)", "files == ['images/i-00000001.png']"),
        kept("add_images", "writer.add_images('i', np.zeros((4, 3, 8, 8)), 1)", "files == ['images/i-00000001.png']"),
        kept("add_images NHWC", "writer.add_images('i', np.zeros((4, 8, 8, 3)), 1, dataformats='NHWC')", "files == ['images/i-00000001.png']"),
        kept("add_image_with_boxes", "writer.add_image_with_boxes('i', np.zeros((3, 8, 8)), np.array([[1, 1, 4, 4]]), 1)", "files == ['images/i-00000001.png']"),
        kept("add_figure", "writer.add_figure('f', Figure(), 1)", "files == ['images/f-00000001.png']", real=False),
        kept("add_figure of several", "writer.add_figure('f', [Figure(), Figure()], 1, close=True)", "len(files) == 2", real=False),
        kept("add_video", "import torch\nwriter.add_video('v', torch.zeros(1, 2, 3, 8, 8), 1, fps=4)", "files == ['videos/v-00000001.png']"),
        dropped("add_graph", "import torch\nwriter.add_graph(torch.nn.Linear(2, 1), torch.zeros(1, 2))"),
    ],
}  # fmt: skip
